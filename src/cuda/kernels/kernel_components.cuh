// Components: the pixels that the last passes over rows and columns do not separate. They are found
// by a union-find that runs on all pixels of all images at once; then means are taken over them.
// The first part of this file has the operations on a pixel, the second part the kernels for images
// of any size. Images that fit in a block have their own kernels, in kernel_small_components.cuh,
// which use the same operations.
//
// Mapping: one thread per pixel, by tiles of an image. A root only ever gets a parent before it, so
// the root of a component is its first pixel in any order of execution. Sums are over integers:
// values are scaled by the largest value of the image and the size of the component, so sums are
// the same in any order too. Each scaled value is within 2^-61 of that largest value times that
// size.
#pragma once

#include <cstdint>

#include "cuda/kernels/kernel_images.cuh"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// The partitions of the last two passes over an image.
struct LastPasses {
  const std::uint32_t* rows;
  const std::uint32_t* columns;
  std::int32_t height;
  std::int32_t width;

  struct Pixel {
    std::int32_t row;
    std::int32_t column;
  };
  [[nodiscard]] __device__ Pixel pixel(std::int32_t index) const noexcept {
    const std::int32_t row = index / width;
    return {row, index - row * width};
  }
  [[nodiscard]] __device__ std::int32_t index(const Pixel& p) const noexcept {
    return p.row * width + p.column;
  }
  [[nodiscard]] __device__ const std::uint32_t* row(std::int32_t r) const noexcept {
    return rows + r * static_cast<std::int32_t>(partition_words(width));
  }
  [[nodiscard]] __device__ const std::uint32_t* column(std::int32_t c) const noexcept {
    return columns + c * static_cast<std::int32_t>(partition_words(height));
  }
  /// The code of the jump to a pixel from the one before it in its row, or in its column.
  [[nodiscard]] __device__ Code row_code(const Pixel& p) const noexcept {
    return code_at(row(p.row), static_cast<std::uint32_t>(p.column));
  }
  [[nodiscard]] __device__ Code column_code(const Pixel& p) const noexcept {
    return code_at(column(p.column), static_cast<std::uint32_t>(p.row));
  }
  [[nodiscard]] __device__ bool joins_row(const Pixel& p) const noexcept {
    return p.column > 0 && row_code(p) == Code::continues;
  }
  [[nodiscard]] __device__ bool joins_column(const Pixel& p) const noexcept {
    return p.row > 0 && column_code(p) == Code::continues;
  }
};

/// The same for all images of a batch.
struct LastPassesOfImages {
  LastPasses first;

  [[nodiscard]] __device__ LastPasses of(std::int64_t image) const noexcept {
    LastPasses own = first;
    own.rows += image * first.height * partition_words(first.width);
    own.columns += image * first.width * partition_words(first.height);
    return own;
  }
};

// --- Operations on a pixel ---

/// The first pixel of a component. Parents may become smaller in the meantime, which is harmless.
[[nodiscard]] __device__ inline std::int32_t root_of(const volatile std::int32_t* parents,
                                                     std::int32_t pixel) noexcept {
  std::int32_t parent = parents[pixel];
  while (parent != pixel) {
    pixel = parent;
    parent = parents[pixel];
  }
  return pixel;
}

/// The same, but shortens the path for later searches. Other threads may shorten it at the same
/// time: a pixel that is not a root always points at a pixel that it has been joined to, whichever
/// write comes last.
[[nodiscard]] __device__ inline std::int32_t shorten_to_root(volatile std::int32_t* parents,
                                                             std::int32_t pixel) noexcept {
  std::int32_t parent = parents[pixel];
  while (parent != pixel) {
    const std::int32_t next = parents[parent];
    if (next != parent) parents[pixel] = next;
    pixel = parent;
    parent = next;
  }
  return pixel;
}

__device__ inline void join(std::int32_t* parents, std::int32_t a, std::int32_t b) noexcept {
  for (;;) {
    a = shorten_to_root(parents, a);
    b = shorten_to_root(parents, b);
    if (a == b) return;
    const std::int32_t low = min(a, b);
    const std::int32_t high = max(a, b);
    const std::int32_t found = atomicCAS(parents + high, high, low);
    if (found == high) return;
    a = low;  // another thread has joined it to another root in the meantime
    b = found;
  }
}

/// Points a pixel at its root and returns the root. All joins must have been made. Other threads
/// may be passing through the pixel; they reach the same root.
__device__ inline std::int32_t point_at_root(volatile std::int32_t* parents,
                                             std::int32_t pixel) noexcept {
  const std::int32_t root = root_of(parents, pixel);
  parents[pixel] = root;
  return root;
}

/// The initial parent: the first pixel of the same row segment, among the pixels that share a word
/// of codes.
[[nodiscard]] __device__ inline std::int32_t first_parent(const LastPasses& passes,
                                                          const LastPasses::Pixel& p) noexcept {
  const std::int32_t in_word = p.column % kCodesPerWord;
  const std::uint32_t codes = passes.row(p.row)[p.column / kCodesPerWord];
  const std::uint32_t up_to_own = codes & (~0U >> (2 * (kCodesPerWord - 1 - in_word)));
  const std::int32_t first = up_to_own == 0 ? 0 : (31 - __clz(static_cast<int>(up_to_own))) / 2;
  return passes.index(p) - (in_word - first);
}

/// Joins a pixel to the pixels before it, unless its first parent or the joins of its neighbours
/// already do.
__device__ inline void join_pixel(const LastPasses& passes, const LastPasses::Pixel& p,
                                  std::int32_t* parents) noexcept {
  const std::int32_t own = passes.index(p);
  const bool joins_row = passes.joins_row(p);
  if (joins_row && p.column % kCodesPerWord == 0) join(parents, own - 1, own);
  if (!passes.joins_column(p)) return;
  const bool is_joined = joins_row && passes.joins_row({p.row - 1, p.column}) &&
                         passes.joins_column({p.row, p.column - 1});
  if (!is_joined) join(parents, own - passes.width, own);
}

/// The exponent of the power of 2 that scales values, so that a sum of `size` of them is below
/// 2^62.
[[nodiscard]] __device__ inline int sum_exponent(double largest, std::int32_t size) noexcept {
  if (!(largest > 0)) return 0;
  int exponent = 0;
  frexp(largest, &exponent);
  const int bits = 32 - __clz(size);
  return 61 - bits - exponent;
}

/// For exponents of normal numbers.
[[nodiscard]] __device__ inline double power_of_2(int exponent) noexcept {
  return __longlong_as_double(static_cast<long long>(exponent + 1023) << 52);
}

/// A value of a component of this size in the form that is summed: an integer in two's complement.
[[nodiscard]] __device__ inline unsigned long long sum_term(double value, double largest,
                                                            std::int32_t size) noexcept {
  // Scale in two halves: the exponent is up to 1133. What is lost in between would round to 0.
  const int exponent = sum_exponent(largest, size);
  const double scaled = value * power_of_2(exponent / 2) * power_of_2(exponent - exponent / 2);
  return static_cast<unsigned long long>(__double2ll_rn(scaled));
}

/// The mean of a component that contains the value. A component of one pixel keeps the bits of the
/// value. The mean is NaN if any value of the image is not finite.
[[nodiscard]] __device__ inline double component_mean(unsigned long long sum, double largest,
                                                      std::int32_t size, double value) noexcept {
  if (size == 1) return value;
  const double spoiled = largest - largest;  // 0 or NaN
  const auto whole = static_cast<double>(static_cast<long long>(sum));
  return ldexp(whole / size, -sum_exponent(largest, size)) + spoiled;
}

/// A magnitude in the form in which `largest` is found: numbers >= 0 are ordered as their bits are,
/// and NaN is above them all.
[[nodiscard]] __device__ inline unsigned long long size_bits(double value) noexcept {
  return static_cast<unsigned long long>(__double_as_longlong(fabs(value)));
}
[[nodiscard]] __device__ inline unsigned long long largest_of_warp(
    unsigned long long own) noexcept {
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    own = max(own, __shfl_xor_sync(kWarp, own, apart));
  }
  return own;
}

/// A value plus the pull of the lams of its edges: a pixel below a jump is pulled up. An edge
/// within a component has no pull; is_with(apart) says whether the pixel at that distance is in the
/// same component.
template <class IsWith>
[[nodiscard]] __device__ double pulled(double value, const LastPasses& passes, std::int64_t image,
                                       const LastPasses::Pixel& p, const PlacedLam& lam_rows,
                                       const PlacedLam& lam_cols, const IsWith& is_with) noexcept {
  const std::int64_t row = image * passes.height + p.row;
  const std::int64_t column = image * passes.width + p.column;
  // The code belongs to the later of this pixel and its neighbour, which is `apart` away.
  const auto pull = [&](Code code, std::int32_t apart, const PlacedLam& lam, std::int64_t line,
                        std::int32_t e) {
    const int sign = jump_sign(code);
    if (sign == 0 || is_with(apart)) return 0.0;
    return (apart > 0 ? sign : -sign) * lam.at(line, e);
  };
  double all = 0;
  if (p.column > 0) all += pull(passes.row_code(p), -1, lam_rows, row, p.column - 1);
  if (p.row > 0) {
    all += pull(passes.column_code(p), -passes.width, lam_cols, column, p.row - 1);
  }
  if (p.column + 1 < passes.width) {
    all += pull(passes.row_code({p.row, p.column + 1}), 1, lam_rows, row, p.column);
  }
  if (p.row + 1 < passes.height) {
    all += pull(passes.column_code({p.row + 1, p.column}), passes.width, lam_cols, column, p.row);
  }
  return add_to(value, all);
}

/// Where the gradient of lams is written, and how it is formed: one value per edge, or the sum over
/// a line.
struct LamGradient {
  void* data;  // null: not wanted
  DType dtype;
  PlacedImages to;      // by its own rows
  std::int32_t height;  // its own height
  std::int32_t width;
  bool along_rows;
  double sign;  // -1 where the solution is mirrored

  /// Writes element (r, c) for an image; mean_of(i) is the mean of pixel i of the image.
  template <class MeanOf>
  __device__ void write(const LastPasses& passes, std::int64_t image, std::int32_t r,
                        std::int32_t c, const MeanOf& mean_of) const noexcept {
    const auto of_edge = [&](const LastPasses::Pixel& behind) {
      const std::int32_t at = passes.index(behind);
      const Code code = along_rows ? passes.row_code(behind) : passes.column_code(behind);
      const std::int32_t before = at - (along_rows ? 1 : passes.width);
      return -sign * jump_sign(code) * (mean_of(at) - mean_of(before));
    };
    const std::int32_t edges = (along_rows ? passes.width : passes.height) - 1;
    double sum = 0;
    if ((along_rows ? width : height) == edges) {
      sum = along_rows ? of_edge({r, c + 1}) : of_edge({r + 1, c});
    } else {
      for (std::int32_t e = 1; e <= edges; ++e) {
        sum += along_rows ? of_edge({r, e}) : of_edge({e, c});
      }
    }
    store_as(data, dtype, to.offset(image * height + r) + c * to.stride, sum);
  }
};

// --- Images of any size ---

struct Components {
  std::int32_t* parents;     // of each pixel, in its image
  std::int32_t* sizes;       // at roots
  unsigned long long* sums;  // at roots: whole numbers in two's complement
  const double* largest;     // of each image
};

__global__ inline void kernel_begin_components(ImageTiles tiles, LastPassesOfImages all_passes,
                                               Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const LastPasses passes = all_passes.of(tiles.image());
  tiles.for_each_pixel([&](std::int64_t i) {
    const auto own = static_cast<std::int32_t>(i - before);
    components.parents[i] = first_parent(passes, passes.pixel(own));
    components.sizes[i] = 0;
    components.sums[i] = 0;
  });
}

__global__ inline void kernel_join_components(ImageTiles tiles, LastPassesOfImages all_passes,
                                              Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const LastPasses passes = all_passes.of(tiles.image());
  std::int32_t* parents = components.parents + before;
  tiles.for_each_pixel([&](std::int64_t i) {
    const auto own = static_cast<std::int32_t>(i - before);
    join_pixel(passes, passes.pixel(own), parents);
  });
}

/// Points every pixel at its root, and counts the pixels of each root.
__global__ inline void kernel_count_components(ImageTiles tiles, Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int32_t root =
        point_at_root(components.parents + before, static_cast<std::int32_t>(i - before));
    atomicAdd(components.sizes + before + root, 1);
  });
}

/// The largest |value| of each image; NaN if any value is NaN. `largest` must be cleared before.
__global__ inline void kernel_largest(ImageTiles tiles, const double* values, double* largest) {
  unsigned long long own = 0;
  tiles.for_each_pixel([&](std::int64_t i) { own = max(own, size_bits(values[i])); });
  own = largest_of_warp(own);
  if (threadIdx.x % kLanes != 0) return;
  atomicMax(reinterpret_cast<unsigned long long*>(largest) + tiles.image(), own);
}

__global__ inline void kernel_sum_components(ImageTiles tiles, const double* values,
                                             Components components) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const double largest = components.largest[tiles.image()];
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int64_t root = before + components.parents[i];
    atomicAdd(components.sums + root, sum_term(values[i], largest, components.sizes[root]));
  });
}

/// Writes the mean of each pixel's component.
template <class Mean>
__global__ void kernel_average_components(ImageTiles tiles, const double* values,
                                          Components components, Mean* means) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const double largest = components.largest[tiles.image()];
  tiles.for_each_pixel([&](std::int64_t i) {
    const std::int64_t root = before + components.parents[i];
    means[i] = static_cast<Mean>(
        component_mean(components.sums[root], largest, components.sizes[root], values[i]));
  });
}

/// Adds the pull of the lams to each pixel.
__global__ inline void kernel_add_pulls(ImageTiles tiles, LastPassesOfImages all_passes,
                                        Components components,
                                        const __grid_constant__ PlacedLam lam_rows,
                                        const __grid_constant__ PlacedLam lam_cols,
                                        double* values) {
  const std::int64_t before = tiles.image() * tiles.pixels;
  const LastPasses passes = all_passes.of(tiles.image());
  tiles.for_each_pixel([&](std::int64_t i) {
    const auto own = static_cast<std::int32_t>(i - before);
    const auto is_with = [&](std::int32_t apart) {
      return components.parents[i] == components.parents[i + apart];
    };
    values[i] =
        pulled(values[i], passes, tiles.image(), passes.pixel(own), lam_rows, lam_cols, is_with);
  });
}

template <class T>
__global__ void kernel_samples(ImageTiles tiles, const T* x, double* values) {
  tiles.for_each_pixel([&](std::int64_t i) { values[i] = static_cast<double>(x[i]); });
}

__global__ inline void kernel_lam_gradient(const __grid_constant__ LamGradient gradient,
                                           LastPassesOfImages all_passes, const double* means,
                                           PackedElements elements) {
  elements.for_each([&](std::int64_t /*i*/, std::int64_t row, std::int64_t column) {
    const std::int64_t image = row / gradient.height;
    const LastPasses passes = all_passes.of(image);
    const double* of_image = means + image * passes.height * passes.width;
    gradient.write(passes, image, static_cast<std::int32_t>(row - image * gradient.height),
                   static_cast<std::int32_t>(column), [&](std::int32_t i) { return of_image[i]; });
  });
}

/// 2 x - y: the effect of mirroring on a linear map.
__global__ inline void kernel_mirror_values(ImageTiles tiles, const double* x, double* y) {
  tiles.for_each_pixel([&](std::int64_t i) { y[i] = mirror(x[i], y[i]); });
}

}  // namespace tautstring::detail
