// The steps before, after and between the passes over images that do not fit in a block, where a
// pass does not itself write the input of the next one: additions per pixel and sums per image. All
// arrays are packed, in the arithmetic type of the call.
//
// Mapping: one block per tile of an image. Traffic: each array once. A sum over an image is the sum
// over its tiles, added in order by every block that needs it: no atomics, and the same bits every
// time.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/warp/image_state.cuh"
#include "cuda/warp/placed_images.cuh"
#include "cuda/warp/storage.cuh"
#include "step/image/gap.h"
#include "step/segment.h"

namespace tautstring::detail {

inline constexpr int kImageThreads = 256;
inline constexpr int kImageTile = 4096;

/// The tiles of a batch, one block each.
struct ImageTiles {
  std::int64_t pixels;  // of an image
  std::int64_t tiles;   // of an image

  explicit ImageTiles(std::int64_t image_pixels) noexcept
      : pixels(image_pixels), tiles((image_pixels + kImageTile - 1) / kImageTile) {}

  [[nodiscard]] __device__ std::int64_t image() const noexcept { return blockIdx.x / tiles; }
  [[nodiscard]] __device__ std::int64_t tile() const noexcept { return blockIdx.x % tiles; }
  /// Calls use(i) for each pixel of the block's tile, counted over all images.
  template <class Use>
  __device__ void for_each_pixel(const Use& use) const noexcept {
    const std::int64_t first = tile() * kImageTile;
    const std::int64_t last = min(first + kImageTile, pixels);
    const std::int64_t before = image() * pixels;
#pragma unroll 4
    for (std::int64_t i = first + threadIdx.x; i < last; i += kImageThreads) use(before + i);
  }
};

/// The sum over the threads of a block, returned in all of them.
[[nodiscard]] __device__ inline double sum_of_block(double term) noexcept {
  __shared__ double sums[kImageThreads / kLanes];
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    term += __shfl_xor_sync(kWarp, term, apart);
  }
  __syncthreads();  // the sums of the previous call have been read
  if (threadIdx.x % kLanes == 0) sums[threadIdx.x / kLanes] = term;
  __syncthreads();
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

/// The elements of a packed array of images.
struct PackedElements {
  std::int64_t count;
  std::int32_t width;

  /// Calls use(i, row, column) for each element. Rows are counted over all images.
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

// --- Properties of an image ---

/// What one thread, block or tile has found in an image.
template <class T>
struct Look {
  T low = std::numeric_limits<T>::infinity();
  T high = -std::numeric_limits<T>::infinity();
  bool is_finite = true;
  bool has_lam = false;  // one that is not 0
  bool has_bad_lam = false;

  __device__ void add_sample(T value) noexcept {
    is_finite = is_finite && value - value == 0;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  __device__ void add_lam(double lam) noexcept {
    has_lam = has_lam || lam != 0;
    has_bad_lam = has_bad_lam || !(lam >= 0);
  }
  __device__ void add(const Look& other) noexcept {
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
    is_finite = is_finite && other.is_finite;
    has_lam = has_lam || other.has_lam;
    has_bad_lam = has_bad_lam || other.has_bad_lam;
  }
};

/// Combines the findings of the threads of a block, in the first thread.
template <class T>
[[nodiscard]] __device__ Look<T> look_of_block(Look<T> own) noexcept {
  __shared__ T lows[kImageThreads / kLanes];
  __shared__ T highs[kImageThreads / kLanes];
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    const T low = __shfl_xor_sync(kWarp, own.low, apart);
    const T high = __shfl_xor_sync(kWarp, own.high, apart);
    own.low = low < own.low ? low : own.low;
    own.high = high > own.high ? high : own.high;
  }
  if (threadIdx.x % kLanes == 0) {
    lows[threadIdx.x / kLanes] = own.low;
    highs[threadIdx.x / kLanes] = own.high;
  }
  own.is_finite = __syncthreads_and(static_cast<int>(own.is_finite)) != 0;
  own.has_lam = __syncthreads_or(static_cast<int>(own.has_lam)) != 0;
  own.has_bad_lam = __syncthreads_or(static_cast<int>(own.has_bad_lam)) != 0;
  for (int w = 0; w < kImageThreads / kLanes; ++w) {
    own.low = lows[w] < own.low ? lows[w] : own.low;
    own.high = highs[w] > own.high ? highs[w] : own.high;
  }
  return own;
}

/// Examines tiles of images: their samples, and the lams in memory of the edges after these.
template <class T>
__global__ void kernel_look_at_tiles(ImageTiles tiles, const T* values, Images images,
                                     const __grid_constant__ PlacedLam lam_rows,
                                     const __grid_constant__ PlacedLam lam_cols, Look<T>* looks) {
  const bool has_lams = lam_rows.data != nullptr || lam_cols.data != nullptr;
  Look<T> own;
  tiles.for_each_pixel([&](std::int64_t i) {
    own.add_sample(values[i]);
    if (!has_lams) return;
    const std::int64_t row = i / images.width;
    const auto r = static_cast<std::int32_t>(row - tiles.image() * images.height);
    const auto c = static_cast<std::int32_t>(i - row * images.width);
    if (lam_rows.data != nullptr && c + 1 < images.width && (c == 0 || lam_rows.is_by_edge())) {
      own.add_lam(lam_rows.at(row, c));
    }
    if (lam_cols.data != nullptr && r + 1 < images.height && (r == 0 || lam_cols.is_by_edge())) {
      own.add_lam(lam_cols.at(tiles.image() * images.width + c, r));
    }
  });
  own = look_of_block(own);
  if (threadIdx.x == 0) looks[blockIdx.x] = own;
}

/// One block per image. `start_looks` may be null: then all images start at 0. `candidate_looks`
/// may be null too; if given, an image is refused if the candidate for its solution is not finite,
/// and no image is copied.
template <class T>
__global__ void kernel_know_images(ImageTiles tiles, const T* x, const Look<T>* looks,
                                   const Look<T>* start_looks, const Look<T>* candidate_looks,
                                   bool has_lam_number, ImageFacts* facts) {
  const std::int64_t image = blockIdx.x;
  const auto look_at = [&](const Look<T>* of_tiles) {
    Look<T> own;
    for (std::int64_t i = threadIdx.x; i < tiles.tiles; i += kImageThreads) {
      own.add(of_tiles[image * tiles.tiles + i]);
    }
    __syncthreads();  // the values shared by the previous call have been read
    return look_of_block(own);
  };
  const Look<T> look = look_at(looks);
  const bool has_start = start_looks != nullptr && look_at(start_looks).is_finite;
  const bool has_candidate = candidate_looks != nullptr;
  const bool is_bad_candidate = has_candidate && !look_at(candidate_looks).is_finite;
  if (threadIdx.x != 0) return;
  ImageFacts own = {0, 0, 1, !has_candidate && !look.has_lam && !has_lam_number, false, false};
  if (!own.is_copied) {
    own.is_refused = look.has_bad_lam || !look.is_finite || is_bad_candidate;
    own.has_start = has_start;
    if (own.is_refused) {
      own.offset = std::numeric_limits<double>::quiet_NaN();
    } else {
      const T offset = origin_of(look.low, look.high, x[image * tiles.pixels]);
      own.offset = static_cast<double>(offset);
      own.largest = fmax(fabs(static_cast<double>(look.low - offset)),
                         fabs(static_cast<double>(look.high - offset)));
      own.scale = gap_scale<T>(own.largest);
    }
  }
  facts[image] = own;
}

// --- Forward ---

/// The value that is subtracted from all samples.
template <class T>
[[nodiscard]] __device__ T offset_of(const ImageFacts* facts, std::int64_t image) noexcept {
  return facts == nullptr ? T(0) : static_cast<T>(facts[image].offset);
}

/// Writes `samples` less the offset to `x`, which may be the same array. `start` may be null:
/// then the first pass over rows takes x. Images that are copied or refused are stopped from the
/// start.
template <class T>
__global__ void kernel_begin_images(ImageTiles tiles, const T* samples, T* x, ImageArrays<T> arrays,
                                    const ImageFacts* facts, const T* start,
                                    ImageProgress* progress, double* momentum, int iterations) {
  const ImageFacts own = facts[tiles.image()];
  const auto offset = static_cast<T>(own.offset);
  const bool has_start = start != nullptr && own.has_start;
  tiles.for_each_pixel([&](std::int64_t i) {
    const T sample = samples[i] - offset;
    const T q = has_start ? start[i] : T(0);
    x[i] = sample;
    if (start != nullptr) arrays.row_input[i] = sample - q;
    if (arrays.q != nullptr) arrays.q[i] = q;
    arrays.q_ahead[i] = q;
  });
  if (tiles.tile() != 0 || threadIdx.x != 0) return;
  const bool is_settled = own.is_copied || own.is_refused;
  const Quality unknown = {std::numeric_limits<double>::infinity(), 0};
  progress[tiles.image()] = {{1, 1}, is_settled ? 0 : iterations, is_settled, false, unknown};
  for (int k = 0; momentum != nullptr && k < (is_settled ? iterations : 1); ++k) {
    momentum[tiles.image() * iterations + k] = 0;
  }
}

/// The sum of two values. If `more` is 0, `value` keeps its bits, also those of -0.
template <class T>
[[nodiscard]] __device__ T add_to(T value, T more) noexcept {
  return more == 0 ? value : value + more;
}

/// Begins the next Dykstra iteration, after the columns have given y. An image that has stopped
/// repeats its last iteration; one that has had none may do what the others do.
template <class T>
__global__ void kernel_begin_rows(ImageTiles tiles, ImageArrays<T> arrays,
                                  const ImageProgress* progress) {
  const ImageProgress& own = progress[tiles.image()];
  if (own.is_stopped && own.done > 0) return;
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = to_q(arrays.input[i], arrays.y[i]);
    arrays.q_ahead[i] = q;
    arrays.row_input[i] = arrays.x[i] - q;
  });
}

/// Decides on the momentum: if the sum over the image is above 0, momentum leads in the wrong
/// direction.
template <class T>
__global__ void kernel_momentum_terms(ImageTiles tiles, ImageArrays<T> arrays,
                                      const ImageFacts* facts, double* sums) {
  const double scale = facts[tiles.image()].scale;
  double sum = 0;
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = arrays.new_q(i);
    sum += (static_cast<double>(arrays.q_ahead[i] - q) * scale) *
           (static_cast<double>(q - arrays.q[i]) * scale);
  });
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class T>
__global__ void kernel_accelerate_rows(ImageTiles tiles, ImageArrays<T> arrays, const double* sums,
                                       ImageProgress* progress, double* all_momentum,
                                       int iterations, int next) {
  ImageProgress& own = progress[tiles.image()];
  if (own.is_stopped) {
    tiles.for_each_pixel(
        [&](std::int64_t i) { arrays.row_input[i] = arrays.x[i] - arrays.q_ahead[i]; });
    return;
  }
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < tiles.tiles; i += kImageThreads) {
    sum += sums[tiles.image() * tiles.tiles + i];
  }
  const double t = sum_of_block(sum) > 0 ? 1 : own.t[(next - 1) % 2];
  const double next_t = (1 + sqrt(1 + 4 * t * t)) / 2;
  const auto momentum = static_cast<T>((t - 1) / next_t);
  tiles.for_each_pixel([&](std::int64_t i) {
    const T q = arrays.new_q(i);
    const T ahead = q + momentum * (q - arrays.q[i]);
    arrays.q[i] = q;
    arrays.q_ahead[i] = ahead;
    arrays.row_input[i] = arrays.x[i] - ahead;
  });
  if (tiles.tile() != 0 || threadIdx.x != 0) return;
  own.t[next % 2] = next_t;
  if (all_momentum != nullptr) all_momentum[tiles.image() * iterations + next] = momentum;
}

/// What a forward call writes.
template <class T>
struct FinishCall {
  PackedElements elements;
  std::int64_t pixels;
  ImageArrays<T> arrays;
  const ImageFacts* facts;
  const ImageProgress* progress;
  const T* polished;  // null: no image is polished
  T* returned;        // null: not wanted; the smooth image that is returned, less the offset
  bool sharp;
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
    const std::int64_t image = i / call.pixels;
    const bool is_copied = call.facts[image].is_copied;
    if (call.dual_data != nullptr) {
      store_as(call.dual_data, call.dual_dtype, call.dual.offset(row) + column * call.dual.stride,
               is_copied ? T(0) : call.arrays.new_q(i));
    }
    Storage& to = static_cast<Storage*>(call.y_data)[call.y.offset(row) + column * call.y.stride];
    const T x = call.arrays.x[i];
    if (is_copied) {
      to = static_cast<const Storage*>(call.x_data)[call.x.offset(row) + column * call.x.stride];
      if (call.returned != nullptr) call.returned[i] = x;
      return;
    }
    const auto offset = static_cast<T>(call.facts[image].offset);
    const T y = call.polished != nullptr && call.progress[image].is_polished ? call.polished[i]
                                                                             : call.arrays.y[i];
    const T value = call.sharp ? mirror(x, y) : y;
    const Storage stored = narrow<Storage>(offset == 0 ? value : value + offset);
    to = stored;
    if (call.returned != nullptr) {
      call.returned[i] = mirror_back(widen<T>(stored) - offset, x, call.sharp);
    }
  });
}

/// What is reported about each image. An image that was copied or refused has had no iterations. In
/// a refused one each line is one segment.
struct TellCall {
  std::int32_t height;
  std::int32_t width;
  const ImageFacts* facts;
  const ImageProgress* progress;
  double tol = 0;                      // that images are held to
  std::int32_t* iterations = nullptr;  // null: not wanted; so for the others
  double* gaps = nullptr;
  double* objectives = nullptr;
  std::uint8_t* converged = nullptr;
  std::uint32_t* partitions = nullptr;
  SavedPasses saved;
  int kept = 0;  // number of iterations whose partitions are kept
};

/// One block per image.
__global__ inline void kernel_tell_images(const __grid_constant__ TellCall call) {
  const std::int64_t image = blockIdx.x;
  const ImageFacts facts = call.facts[image];
  if (threadIdx.x == 0) {
    const ImageProgress& progress = call.progress[image];
    if (call.iterations != nullptr) call.iterations[image] = progress.done;
    ReportedQuality quality = reported(progress.quality, facts.scale, call.tol);
    if (facts.is_copied) quality = {0, 0, true};
    if (facts.is_refused) quality = {facts.offset, facts.offset, false};
    if (call.gaps != nullptr) call.gaps[image] = quality.gap;
    if (call.objectives != nullptr) call.objectives[image] = quality.objective;
    if (call.converged != nullptr) call.converged[image] = quality.converged ? 1 : 0;
  }
  if (call.partitions == nullptr || !facts.is_refused) return;
  const auto store = [&](std::int64_t first, std::int64_t words, std::int32_t length) {
    const std::int64_t of_line = partition_words(length);
    for (std::int64_t i = threadIdx.x; i < words; i += kImageThreads) {
      call.partitions[first + i] = i % of_line == 0 ? static_cast<std::uint32_t>(Code::plain) : 0U;
    }
  };
  for (int k = 0; k < call.kept; ++k) {
    store(call.saved.rows(image, k), call.saved.row_words, call.width);
    store(call.saved.columns(image, k), call.saved.column_words, call.height);
  }
}

// --- Derivatives of the iterations ---

/// If the result of the iterations is mirrored, the incoming gradient is negated first.
template <class T>
__global__ void kernel_negate_gradients(ImageTiles tiles, T* grad_y) {
  tiles.for_each_pixel([&](std::int64_t i) { grad_y[i] = -grad_y[i]; });
}

/// From the gradient of the iterations to that of sharpening.
template <class T>
__global__ void kernel_mirror_gradients(ImageTiles tiles, const T* grad_y, T* grad_x) {
  tiles.for_each_pixel([&](std::int64_t i) { grad_x[i] = mirror(-grad_y[i], -grad_x[i]); });
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
  const bool is_stopped = k >= iterations_of(all_done, iterations, tiles.image());
  const bool has_momentum = momentum != nullptr && k > 0 && !is_stopped;
  const auto b = static_cast<T>(has_momentum ? momentum[tiles.image() * iterations + k] : 0);
  tiles.for_each_pixel([&](std::int64_t i) {
    if (!is_stopped) {
      const T q = k > 0 ? arrays.new_q(i) : T(0);
      const T before = k > 0 ? arrays.q[i] : T(0);
      arrays.q_ahead[i] = q + b * (q - before);
      arrays.q[i] = q;
    }
    arrays.row_input[i] = arrays.x[i] - arrays.q_ahead[i];
  });
}

template <class T>
__global__ void kernel_begin_column_tangents(ImageTiles tiles, ImageArrays<T> arrays) {
  tiles.for_each_pixel(
      [&](std::int64_t i) { arrays.input[i] = add_to(arrays.y[i], arrays.q_ahead[i]); });
}

template <class T>
__global__ void kernel_mirror_tangents(ImageTiles tiles, ImageArrays<T> arrays) {
  tiles.for_each_pixel([&](std::int64_t i) { arrays.y[i] = mirror(arrays.x[i], arrays.y[i]); });
}

}  // namespace tautstring::detail
