// The pixels that the last passes over rows and columns do not separate: components, found by a
// union-find that all pixels of all images run at once, and means over them.
//
// Mapping: one thread a pixel, by tiles of an image. Parents only ever become smaller, so that the
// root of a component is its first pixel whatever the order. Sums are of whole numbers, values
// scaled by the largest of the image and the size of the component, so that they too are the same
// in any order: each value is within 2^-61 of that largest one times that size.
#pragma once

#include <cstdint>

#include "cuda/kernels/kernel_images.cuh"
#include "tautline/partition.h"

namespace tautline::detail {

/// The partitions of the last two passes.
struct LastPasses {
  const std::uint32_t* rows;  // of the first image
  const std::uint32_t* columns;
  std::int32_t height;
  std::int32_t width;

  struct Pixel {
    std::int64_t image;
    std::int32_t row;
    std::int32_t column;
  };
  [[nodiscard]] __device__ Pixel pixel(std::int64_t image, std::int64_t in_image) const noexcept {
    const auto row = static_cast<std::int32_t>(in_image / width);
    return {image, row, static_cast<std::int32_t>(in_image - std::int64_t{row} * width)};
  }
  /// Of the jump to a pixel from the one before it in its row, or in its column.
  [[nodiscard]] __device__ Code row_code(const Pixel& p) const noexcept {
    return code_at(rows + (p.image * height + p.row) * partition_words(width), p.column);
  }
  [[nodiscard]] __device__ Code column_code(const Pixel& p) const noexcept {
    return code_at(columns + (p.image * width + p.column) * partition_words(height), p.row);
  }
};

struct Components {
  std::int32_t* parents;     // of each pixel, in its image
  std::int32_t* sizes;       // at roots
  unsigned long long* sums;  // at roots: whole numbers in two's complement
  const double* largest;     // of each image
};

/// The first pixel of a component. Parents may become smaller meanwhile, which does no harm.
[[nodiscard]] __device__ inline std::int32_t root_of(std::int32_t* parents,
                                                     std::int32_t pixel) noexcept {
  std::int32_t parent = atomicAdd(parents + pixel, 0);
  while (parent != pixel) {
    pixel = parent;
    parent = atomicAdd(parents + pixel, 0);
  }
  return pixel;
}

__device__ inline void join(std::int32_t* parents, std::int32_t a, std::int32_t b) noexcept {
  for (;;) {
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a == b) return;
    const std::int32_t low = min(a, b);
    const std::int32_t high = max(a, b);
    const std::int32_t found = atomicCAS(parents + high, high, low);
    if (found == high) return;
    a = low;  // somebody has joined it to another meanwhile
    b = found;
  }
}

__global__ inline void kernel_begin_components(ImageTiles tiles, Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  tiles.for_each_pixel([&](std::int64_t i) {
    components.parents[i] = static_cast<std::int32_t>(i - before);
    components.sizes[i] = 0;
    components.sums[i] = 0;
  });
}

__global__ inline void kernel_join_components(ImageTiles tiles, LastPasses passes,
                                              Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  std::int32_t* parents = components.parents + before;
  tiles.for_each_pixel([&](std::int64_t i) {
    const auto own = static_cast<std::int32_t>(i - before);
    const LastPasses::Pixel p = passes.pixel(tiles.image(), own);
    if (p.column > 0 && passes.row_code(p) == Code::continues) join(parents, own - 1, own);
    if (p.row > 0 && passes.column_code(p) == Code::continues) {
      join(parents, own - passes.width, own);
    }
  });
}

/// Lets every pixel point at its root, and counts those that do.
__global__ inline void kernel_count_components(ImageTiles tiles, Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int32_t root =
        root_of(components.parents + before, static_cast<std::int32_t>(i - before));
    // Others may be on their way through this pixel: they come to the same root.
    atomicExch(components.parents + i, root);
    atomicAdd(components.sizes + before + root, 1);
  });
}

/// The largest |value| of each image; NaN where one is. `largest` has been cleared. Numbers >= 0
/// are in the order of their bits, and NaN is above them all.
__global__ inline void kernel_largest(ImageTiles tiles, const double* values, double* largest) {
  unsigned long long own = 0;
  tiles.for_each_pixel([&](std::int64_t i) {
    own = max(own, static_cast<unsigned long long>(__double_as_longlong(fabs(values[i]))));
  });
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    own = max(own, __shfl_xor_sync(kWarp, own, apart));
  }
  if (threadIdx.x % kLanes != 0) return;
  atomicMax(reinterpret_cast<unsigned long long*>(largest) + tiles.image(), own);
}

/// The power of 2 that values are taken times: so that the sum of so many of them is below 2^62.
[[nodiscard]] __device__ inline int sum_exponent(double largest, std::int32_t size) noexcept {
  if (!(largest > 0)) return 0;
  int exponent = 0;
  frexp(largest, &exponent);
  const int bits = 32 - __clz(size);
  return 61 - bits - exponent;
}

__global__ inline void kernel_sum_components(ImageTiles tiles, const double* values,
                                             Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const double largest = components.largest[tiles.image()];
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int64_t root = before + components.parents[i];
    const int exponent = sum_exponent(largest, components.sizes[root]);
    atomicAdd(components.sums + root,
              static_cast<unsigned long long>(__double2ll_rn(ldexp(values[i], exponent))));
  });
}

/// The mean of each pixel's component; a pixel alone keeps its bits. NaN in an image that has a
/// value which is not finite.
template <class Mean>
__global__ void kernel_average_components(ImageTiles tiles, const double* values,
                                          Components components, Mean* means) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const double largest = components.largest[tiles.image()];
  const double spoiled = largest - largest;  // 0 or NaN
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int64_t root = before + components.parents[i];
    const std::int32_t size = components.sizes[root];
    const auto sum = static_cast<double>(static_cast<long long>(components.sums[root]));
    const double mean = ldexp(sum / size, -sum_exponent(largest, size)) + spoiled;
    means[i] = static_cast<Mean>(size == 1 ? values[i] : mean);
  });
}

/// Adds to each pixel what the lams of its edges pull at it: a pixel below a jump is pulled up. An
/// edge within a component moves nothing.
__global__ inline void kernel_add_pulls(ImageTiles tiles, LastPasses passes, Components components,
                                        const __grid_constant__ PlacedLam row_lam,
                                        const __grid_constant__ PlacedLam column_lam,
                                        double* values) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  tiles.for_each_pixel([&](std::int64_t i) {
    const LastPasses::Pixel p = passes.pixel(tiles.image(), i - before);
    const std::int64_t row = p.image * passes.height + p.row;
    const std::int64_t column = p.image * passes.width + p.column;
    // By the code of the later of this pixel and its neighbour, which is `apart` away.
    const auto pull = [&](Code code, std::int64_t apart, const PlacedLam& lam, std::int64_t line,
                          std::int32_t e) {
      const int sign = jump_sign(code);
      if (sign == 0 || components.parents[i] == components.parents[i + apart]) return 0.0;
      return (apart > 0 ? sign : -sign) * lam.at(line, e);
    };
    double all = 0;
    if (p.column > 0) all += pull(passes.row_code(p), -1, row_lam, row, p.column - 1);
    if (p.row > 0) {
      all += pull(passes.column_code(p), -passes.width, column_lam, column, p.row - 1);
    }
    if (p.column + 1 < passes.width) {
      all += pull(passes.row_code({p.image, p.row, p.column + 1}), 1, row_lam, row, p.column);
    }
    if (p.row + 1 < passes.height) {
      all += pull(passes.column_code({p.image, p.row + 1, p.column}), passes.width, column_lam,
                  column, p.row);
    }
    values[i] = add_to(values[i], all);
  });
}

template <class T>
__global__ void kernel_samples(ImageTiles tiles, const T* x, double* values) {
  tiles.for_each_pixel([&](std::int64_t i) { values[i] = static_cast<double>(x[i]); });
}

/// What a gradient of lams is made of: one an edge, or their sum over a line.
struct LamGradientCall {
  LastPasses passes;
  const double* means;
  double sign;  // -1 where the solution is mirrored
  bool along_rows;
  std::int32_t height;  // of the gradient
  std::int32_t width;
  PackedElements elements;
  PlacedImages to;
  void* data;
  DType dtype;
};

__global__ inline void kernel_lam_gradient(const __grid_constant__ LamGradientCall call) {
  const auto of_edge = [&](const LastPasses::Pixel& behind) {
    const std::int64_t at =
        (behind.image * call.passes.height + behind.row) * call.passes.width + behind.column;
    const Code code =
        call.along_rows ? call.passes.row_code(behind) : call.passes.column_code(behind);
    const std::int64_t before = at - (call.along_rows ? 1 : call.passes.width);
    return -call.sign * jump_sign(code) * (call.means[at] - call.means[before]);
  };
  const std::int32_t edges = (call.along_rows ? call.passes.width : call.passes.height) - 1;
  const bool is_by_edge = (call.along_rows ? call.width : call.height) == edges;
  call.elements.for_each([&](std::int64_t /*i*/, std::int64_t row, std::int64_t column) {
    const std::int64_t image = row / call.height;
    const auto r = static_cast<std::int32_t>(row - image * call.height);
    const auto c = static_cast<std::int32_t>(column);
    double sum = 0;
    if (is_by_edge) {
      sum = call.along_rows ? of_edge({image, r, c + 1}) : of_edge({image, r + 1, c});
    } else {
      for (std::int32_t e = 1; e <= edges; ++e) {
        sum += call.along_rows ? of_edge({image, r, e}) : of_edge({image, e, c});
      }
    }
    store_as(call.data, call.dtype, call.to.offset(row) + column * call.to.stride, sum);
  });
}

/// 2 x - y, what mirroring makes of a linear map.
__global__ inline void kernel_mirror_values(ImageTiles tiles, const double* x, double* y) {
  tiles.for_each_pixel([&](std::int64_t i) { y[i] = mirror(x[i], y[i]); });
}

}  // namespace tautline::detail
