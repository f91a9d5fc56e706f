// What stands between the passes over images that no block holds: additions a pixel, sums an
// image. All arrays are packed, in the arithmetic of the call.
//
// Mapping: a block has a tile of one image, a warp a row of one where the dual variable is summed
// up along it. Traffic: each array once. Sums over an image are sums over its tiles, added in
// their order by every block that needs them: no atomics, the same bits every time.
#pragma once

#include <cstdint>

#include "cuda/warp/placed_images.cuh"
#include "cuda/warp/storage.cuh"

namespace tautline::detail {

inline constexpr int kImageThreads = 256;
inline constexpr int kImageTile = 4096;

/// The tiles of a batch, a block each.
struct ImageTiles {
  std::int64_t pixels;  // of an image
  std::int64_t tiles;   // of an image

  explicit ImageTiles(std::int64_t image_pixels) noexcept
      : pixels(image_pixels), tiles((image_pixels + kImageTile - 1) / kImageTile) {}

  [[nodiscard]] __device__ std::int64_t image() const noexcept { return blockIdx.x / tiles; }
  [[nodiscard]] __device__ std::int64_t tile() const noexcept { return blockIdx.x % tiles; }
  /// Calls use(i) with each pixel of the block's tile, counted over all images.
  template <class Use>
  __device__ void for_each_pixel(const Use& use) const noexcept {
    const std::int64_t first = tile() * kImageTile;
    const std::int64_t last = min(first + kImageTile, pixels);
    const std::int64_t before = image() * pixels;
#pragma unroll 4
    for (std::int64_t i = first + threadIdx.x; i < last; i += kImageThreads) use(before + i);
  }
};

/// The sum over the threads of a block, in all of them.
[[nodiscard]] __device__ inline double sum_of_block(double term) noexcept {
  __shared__ double sums[kImageThreads / kLanes];
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    term += __shfl_xor_sync(kWarp, term, apart);
  }
  __syncthreads();  // nobody reads the sums of the call before
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = term;
  __syncthreads();
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

/// Elements of an array of images as they are packed.
struct PackedElements {
  std::int64_t count;
  std::int32_t width;

  /// Calls use(i, row, column) with each, rows counted over all images.
  template <class Use>
  __device__ void for_each(const Use& use) const noexcept {
    const std::int64_t step = std::int64_t{gridDim.x} * kImageThreads;
    for (std::int64_t i = std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x; i < count;
         i += step) {
      const std::int64_t row = i / width;
      use(i, row, i - row * width);
    }
  }
};

template <class T>
__global__ void kernel_pack_images(PackedElements elements,
                                   const __grid_constant__ PlacedImages from, const void* data,
                                   DType dtype, T* to) {
  elements.for_each([&](std::int64_t i, std::int64_t row, std::int64_t column) {
    to[i] = load_as<T>(data, dtype, from.offset(row) + column * from.stride);
  });
}

template <class Value>
__global__ void kernel_unpack_images(PackedElements elements,
                                     const __grid_constant__ PlacedImages to, void* data,
                                     DType dtype, const Value* from) {
  elements.for_each([&](std::int64_t i, std::int64_t row, std::int64_t column) {
    store_as(data, dtype, to.offset(row) + column * to.stride, from[i]);
  });
}

__global__ inline void kernel_clear_images(PackedElements elements,
                                           const __grid_constant__ PlacedImages to, void* data,
                                           DType dtype) {
  elements.for_each([&](std::int64_t /*i*/, std::int64_t row, std::int64_t column) {
    store_as(data, dtype, to.offset(row) + column * to.stride, 0.0);
  });
}

// --- Forward ---

/// An image's progress where it may stop before others.
struct ImageProgress {
  double t[2];        // of the momentum, by turns
  std::int32_t done;  // iterations
  std::int32_t is_stopped;
};

template <class T>
struct ImageArrays {
  const T* x;
  T* row_input;     // X - Qb
  T* column_input;  // X - P; first what the pass over the rows gives
  T* y;
  T* q;  // of the iteration before
};

/// `start` may be null; an image whose own is not finite, as `start_size` tells, starts at 0.
template <class T>
__global__ void kernel_begin_images(ImageTiles tiles, ImageArrays<T> arrays, const T* start,
                                    const double* start_size, ImageProgress* progress,
                                    double* momentum, int iterations) {
  const bool has_start = start != nullptr && isfinite(start_size[tiles.image()]);
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = has_start ? start[i] : T(0);
    arrays.row_input[i] = arrays.x[i] - q;
    arrays.q[i] = q;
  });
  if (tiles.tile() != 0 || threadIdx.x != 0) return;
  progress[tiles.image()] = {{1, 1}, iterations, 0};
  if (momentum != nullptr) momentum[tiles.image() * iterations] = 0;
}

template <class T>
__global__ void kernel_begin_columns(ImageTiles tiles, ImageArrays<T> arrays) {
  tiles.for_each_pixel([&](std::int64_t i) {
    arrays.column_input[i] = arrays.x[i] - (arrays.row_input[i] - arrays.column_input[i]);
  });
}

/// The next iteration of Dykstra's; an image that has stopped does its last one again.
template <class T>
__global__ void kernel_begin_rows(ImageTiles tiles, ImageArrays<T> arrays,
                                  const ImageProgress* progress, double* momentum, int iterations,
                                  int next) {
  if (progress[tiles.image()].is_stopped != 0) return;
  tiles.for_each_pixel([&](std::int64_t i) {
    arrays.row_input[i] = arrays.x[i] - (arrays.column_input[i] - arrays.y[i]);
  });
  if (momentum != nullptr && tiles.tile() == 0 && threadIdx.x == 0) {
    momentum[tiles.image() * iterations + next] = 0;
  }
}

/// What decides on the momentum: above 0 over the image, it leads away.
template <class T>
__global__ void kernel_momentum_terms(ImageTiles tiles, ImageArrays<T> arrays, double* sums) {
  double sum = 0;
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = arrays.column_input[i] - arrays.y[i];
    const T ahead = arrays.x[i] - arrays.row_input[i];
    sum += static_cast<double>(ahead - q) * static_cast<double>(q - arrays.q[i]);
  });
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
__global__ void kernel_accelerate_rows(ImageTiles tiles, ImageArrays<T> arrays, const double* sums,
                                       ImageProgress* progress, double* all_momentum,
                                       int iterations, int next) {
  ImageProgress& own = progress[tiles.image()];
  if (own.is_stopped != 0) return;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < tiles.tiles; i += kImageThreads) {
    sum += sums[tiles.image() * tiles.tiles + i];
  }
  const double t = sum_of_block(sum) > 0 ? 1 : own.t[(next - 1) % 2];
  const double next_t = (1 + sqrt(1 + 4 * t * t)) / 2;
  const auto momentum = static_cast<T>((t - 1) / next_t);
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = arrays.column_input[i] - arrays.y[i];
    arrays.row_input[i] = arrays.x[i] - (q + momentum * (q - arrays.q[i]));
    arrays.q[i] = q;
  });
  if (tiles.tile() != 0 || threadIdx.x != 0) return;
  own.t[next % 2] = next_t;
  if (all_momentum != nullptr) all_momentum[tiles.image() * iterations + next] = momentum;
}

struct GapAndObjective {
  double gap;
  double objective;
};

/// See the CPU's duality_gap: behind a pass over the columns only the rows have a gap.
template <class T>
struct GapCall {
  Images images;
  ImageArrays<T> arrays;
  PlacedLam row_lam;
  PlacedLam column_lam;
  const double* largest;  // of each image
  GapAndObjective* rows;
};

/// The larger of two; NaN where one is.
[[nodiscard]] __device__ inline double larger(double a, double b) noexcept {
  return b > a || b != b ? b : a;
}

/// Largest |x| of each image, one block an image; NaN where there is one.
template <class T>
__global__ void kernel_largest(const T* x, std::int64_t pixels, double* largest) {
  __shared__ double parts[kImageThreads];
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < pixels; i += kImageThreads) {
    own = larger(own, fabs(static_cast<double>(x[blockIdx.x * pixels + i])));
  }
  parts[threadIdx.x] = own;
  __syncthreads();
  for (int half = kImageThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) {
      parts[threadIdx.x] = larger(parts[threadIdx.x], parts[threadIdx.x + half]);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) largest[blockIdx.x] = parts[0];
}

template <class T>
__global__ void kernel_gap(const __grid_constant__ GapCall<T> call) {
  constexpr double kSnap = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t row = (std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x) / kLanes;
  const std::int32_t height = call.images.height;
  const std::int32_t width = call.images.width;
  if (row >= call.images.count * height) return;
  const std::int64_t image = row / height;
  const bool has_row_below = row - image * height + 1 < height;
  const double largest = call.largest[image];
  const std::int64_t first = row * width;
  double gap = 0;
  double objective = 0;
  double u_before = 0;
  double counted_before = 0;
  for (std::int32_t c0 = 0; c0 < width; c0 += kLanes) {
    const std::int32_t c = c0 + lane;
    const std::int64_t i = first + c;
    const bool is_inside = c < width;
    const double x = is_inside ? static_cast<double>(call.arrays.x[i]) : 0;
    const double y = is_inside ? static_cast<double>(call.arrays.y[i]) : 0;
    const double p = is_inside ? x - static_cast<double>(call.arrays.column_input[i]) : 0;
    double u = -p;  // summed up along the row
    for (int apart = 1; apart < kLanes; apart *= 2) {
      const double before = __shfl_up_sync(kWarp, u, apart);
      if (lane >= apart) u += before;
    }
    u += u_before;
    u_before = __shfl_sync(kWarp, u, kLanes - 1);
    double counted = 0;
    if (c + 1 < width) {
      const double bound = call.row_lam.at(row, c);
      const double near = kSnap * fmax(bound, largest);
      counted = fmin(fmax(u, -bound), bound);
      if (bound - counted <= near) counted = bound;
      if (counted + bound <= near) counted = -bound;
      const double rise = static_cast<double>(call.arrays.y[i + 1]) - y;
      if (rise != 0) {
        gap += bound * fabs(rise) - counted * rise;
        objective += bound * fabs(rise);
      }
    }
    const double from_left = __shfl_up_sync(kWarp, counted, 1);
    const double residual = ((lane == 0 ? counted_before : from_left) - counted) - p;
    counted_before = __shfl_sync(kWarp, counted, kLanes - 1);
    if (is_inside) {
      gap += residual * residual / 2;
      objective += (x - y) * (x - y) / 2;
    }
    if (is_inside && has_row_below) {
      const double rise = static_cast<double>(call.arrays.y[i + width]) - y;
      const auto r = static_cast<std::int32_t>(row - image * height);
      if (rise != 0) objective += call.column_lam.at(image * width + c, r) * fabs(rise);
    }
  }
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    gap += __shfl_xor_sync(kWarp, gap, apart);
    objective += __shfl_xor_sync(kWarp, objective, apart);
  }
  if (lane == 0) call.rows[row] = {gap, objective};
}

/// One block an image: sums the rows' gaps, and stops those images whose gap is small enough.
__global__ inline void kernel_stop_images(const GapAndObjective* rows, std::int32_t height,
                                          double tol, int done, ImageProgress* progress,
                                          double* gaps, std::int32_t* still_running) {
  double gap = 0;
  double objective = 0;
  for (std::int32_t r = static_cast<std::int32_t>(threadIdx.x); r < height; r += kImageThreads) {
    gap += rows[std::int64_t{blockIdx.x} * height + r].gap;
    objective += rows[std::int64_t{blockIdx.x} * height + r].objective;
  }
  gap = sum_of_block(gap);
  objective = sum_of_block(objective);
  if (threadIdx.x != 0) return;
  ImageProgress& own = progress[blockIdx.x];
  if (own.is_stopped != 0) return;
  if (gaps != nullptr) gaps[blockIdx.x] = gap;
  if (tol > 0 && !(gap > tol * objective)) {
    own.is_stopped = 1;
    own.done = done;
  } else {
    atomicAdd(still_running, 1);
  }
}

/// Whether any lam of an image is not 0, one block an image.
__global__ inline void kernel_find_lams(Images images, PlacedLam row_lam, PlacedLam column_lam,
                                        bool* has_lam) {
  bool own = false;
  const auto look = [&](const PlacedLam& lam, std::int32_t lines, std::int32_t edges) {
    if (lam.data == nullptr) {
      own = own || (edges > 0 && lam.number != 0);
      return;
    }
    const std::int32_t each = lam.lines.size > 1 ? edges : min(edges, 1);
    for (std::int64_t i = threadIdx.x; i < std::int64_t{lines} * each; i += kImageThreads) {
      const auto e = static_cast<std::int32_t>(i % max(each, 1));
      own = own || lam.at(std::int64_t{blockIdx.x} * lines + i / max(each, 1), e) != 0;
    }
  };
  look(row_lam, images.height, images.width - 1);
  look(column_lam, images.width, images.height - 1);
  if (__syncthreads_or(static_cast<int>(own)) == 0 && threadIdx.x == 0) {
    has_lam[blockIdx.x] = false;
  } else if (threadIdx.x == 0) {
    has_lam[blockIdx.x] = true;
  }
}

/// What a forward call writes.
template <class T>
struct FinishCall {
  PackedElements elements;
  std::int64_t pixels;
  ImageArrays<T> arrays;
  bool sharp;
  const bool* has_lam;  // null: all images have
  PlacedImages x;
  const void* x_data;
  DType dtype;  // of x and y
  PlacedImages y;
  void* y_data;
  PlacedImages dual;
  void* dual_data;  // null: not wanted
  DType dual_dtype;
};

template <class Storage, class T>
__global__ void kernel_finish_images(const __grid_constant__ FinishCall<T> call) {
  call.elements.for_each([&](std::int64_t i, std::int64_t row, std::int64_t column) {
    const T x = call.arrays.x[i];
    const T y = call.arrays.y[i];
    if (call.dual_data != nullptr) {
      store_as(call.dual_data, call.dual_dtype, call.dual.offset(row) + column * call.dual.stride,
               call.arrays.column_input[i] - y);
    }
    Storage& to = static_cast<Storage*>(call.y_data)[call.y.offset(row) + column * call.y.stride];
    if (call.has_lam != nullptr && !call.has_lam[i / call.pixels]) {
      to = static_cast<const Storage*>(call.x_data)[call.x.offset(row) + column * call.x.stride];
    } else {
      to = narrow<Storage>(call.sharp ? x + (x - y) : y);
    }
  });
}

/// What became of each image. One that was copied had no iterations, nor one that came out NaN.
template <class T>
struct TellCall {
  const T* y;
  std::int64_t pixels;
  std::int64_t count;
  const ImageProgress* progress;
  const bool* has_lam;
  std::int32_t* iterations;  // null: not wanted; so the gaps
  double* gaps;
};

template <class T>
__global__ void kernel_tell_images(TellCall<T> call) {
  const std::int64_t image = std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x;
  if (image >= call.count) return;
  const bool is_copied = !call.has_lam[image];
  const T value = call.y[image * call.pixels];
  if (call.iterations != nullptr) {
    call.iterations[image] = is_copied || value != value ? 0 : call.progress[image].done;
  }
  if (call.gaps != nullptr && is_copied) call.gaps[image] = 0;
}

// --- Derivatives of the iterations ---

template <class T>
struct GradientArrays {
  T* grad_y;
  T* grad_x;
  T* incoming;  // h, then gB
  T* mean;      // S of it
  T* q_next;    // q of the iteration behind, and of the one behind that
  T* q_after;
};

template <class T>
__global__ void kernel_begin_gradients(ImageTiles tiles, GradientArrays<T> arrays, bool sharp) {
  tiles.for_each_pixel([&](std::int64_t i) {
    const T g = arrays.grad_y[i];
    arrays.grad_x[i] = sharp ? 2 * g : T(0);
    if (sharp) arrays.grad_y[i] = -g;
    arrays.q_next[i] = 0;
    arrays.q_after[i] = 0;
  });
}

/// gQ in place of q_after, and h.
template <class T>
__global__ void kernel_gradient_of_columns(ImageTiles tiles, GradientArrays<T> arrays,
                                           const double* all_momentum, const std::int32_t* all_done,
                                           int iterations, int k) {
  const int done = iterations_of(all_done, iterations, tiles.image());
  const auto momentum_of = [&](int iteration) {
    if (all_momentum == nullptr || iteration >= done) return T(0);
    return static_cast<T>(all_momentum[tiles.image() * iterations + iteration]);
  };
  const T next = momentum_of(k + 1);
  const T after = momentum_of(k + 2);
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = (1 + next) * arrays.q_next[i] - after * arrays.q_after[i];
    arrays.q_after[i] = q;
    arrays.incoming[i] = (k + 1 == done ? arrays.grad_y[i] : T(0)) - q;
  });
}

template <class T>
__global__ void kernel_gradient_of_rows(ImageTiles tiles, GradientArrays<T> arrays) {
  tiles.for_each_pixel([&](std::int64_t i) {
    const T incoming = arrays.q_after[i] + arrays.mean[i];
    arrays.incoming[i] = incoming;
    arrays.grad_x[i] += incoming;
  });
}

template <class T>
__global__ void kernel_gradient_before(ImageTiles tiles, GradientArrays<T> arrays) {
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = arrays.incoming[i] - arrays.mean[i];
    arrays.q_after[i] = q;
    arrays.grad_x[i] -= q;
  });
}

template <class T>
__global__ void kernel_add_grad_lam(std::int64_t count, const T* terms, double* sums) {
  const std::int64_t step = std::int64_t{gridDim.x} * kImageThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x; i < count;
       i += step) {
    sums[i] += static_cast<double>(terms[i]);
  }
}

template <class T>
__global__ void kernel_begin_tangents(ImageTiles tiles, ImageArrays<T> arrays,
                                      const double* momentum, const std::int32_t* all_done,
                                      int iterations, int k) {
  const int done = iterations_of(all_done, iterations, tiles.image());
  if (k >= done) return;
  const bool has_momentum = momentum != nullptr && k > 0;
  const auto b = static_cast<T>(has_momentum ? momentum[tiles.image() * iterations + k] : 0);
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = k > 0 ? arrays.column_input[i] - arrays.y[i] : T(0);
    const T before = k > 0 ? arrays.q[i] : T(0);
    arrays.row_input[i] = arrays.x[i] - (q + b * (q - before));
    arrays.q[i] = q;
  });
}

template <class T>
__global__ void kernel_mirror_tangents(ImageTiles tiles, ImageArrays<T> arrays) {
  tiles.for_each_pixel(
      [&](std::int64_t i) { arrays.y[i] = arrays.x[i] + (arrays.x[i] - arrays.y[i]); });
}

}  // namespace tautline::detail
