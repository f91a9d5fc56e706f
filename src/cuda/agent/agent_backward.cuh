// Sums of the incoming gradient over segments, from the codes alone, for rows along
// memory.
//
// Mapping: a thread has the sixteen elements of one word of codes. Rows of up to 512
// elements lie side by side in a warp, longer ones in a block, in tiles of 8192 where
// they are longer still. Traffic: grad_y and the codes are read once, grad_x is
// written once, both through shared memory in whole lines. Shared memory: sixteen
// elements a thread.
//
// Every segment's sum is one of a fixed tree: sixteen elements in turn, words in a
// warp by a scan, warps and tiles in turn. It depends on where in the row a segment
// lies, never on where in the batch the row does.
#pragma once

#include <cstdint>

#include "cuda/tuning/tuning_backward.h"
#include "cuda/warp/backward_rows.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "tautline/partition.h"

namespace tautline::detail {

/// A sum over the elements from `start` on.
template <class T>
struct OpenSum {
  T sum;
  std::int32_t start;
};

template <class T>
[[nodiscard]] __device__ T mean_of(T sum, std::int32_t count) noexcept {
  return sum / static_cast<T>(count);
}
/// One rounding more than a division has in rare cases, and a third of its work.
template <>
[[nodiscard]] __device__ inline float mean_of(float sum, std::int32_t count) noexcept {
  const auto size = static_cast<float>(count);
  float share;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(size));
  const float mean = sum * share;
  return __fmaf_rn(__fmaf_rn(-mean, size, sum), share, mean);
}

template <class Storage, bool kBlockRow>
class AgentBackward {
 public:
  using T = ArithmeticOf<Storage>;

  /// The warps of a block leave here what those behind and before them need.
  struct Shared {
    T tail[32];
    std::int32_t tail_start[32];  // -1: no start in the warp
    T first_mean[32];
    bool has_end[32];
    double grad_lam[32];
  };

  __device__ AgentBackward(const BackwardRows<Storage>& call, char* staging,
                           Shared* shared) noexcept
      : call_(call),
        lane_(static_cast<int>(threadIdx.x) % 32),
        warp_(static_cast<int>(threadIdx.x) / 32),
        words_((call.n + kWordElements - 1) / kWordElements),
        staging_(reinterpret_cast<Packed*>(staging) + warp_ * 32 * kVectors),
        shared_(shared) {}

  /// Rows that share warps: those of warp `index` of the grid.
  __device__ void run_warp(std::int64_t index) noexcept {
    const int rows_per_warp = 32 / words_;
    const int row_in_warp = lane_ / words_;
    word_ = lane_ - row_in_warp * words_;
    const std::int64_t first_row = index * rows_per_warp;
    row_ = first_row + row_in_warp;
    active_ = row_in_warp < rows_per_warp && row_ < call_.count;
    is_last_word_ = word_ == words_ - 1 || !active_;
    const std::int64_t rows_left = call_.count - first_row;
    const std::int64_t elements =
        (rows_left < rows_per_warp ? rows_left : rows_per_warp) * call_.n;
    run(first_row, elements, {0, 0}, {0, call_.n});
  }

  /// A row, or a tile of it, in this block.
  __device__ void run_block(std::int64_t row, std::int32_t tile) noexcept {
    const std::int32_t first = tile * kBackwardTile;
    const std::int32_t last = min(first + kBackwardTile, call_.n);
    word_ = first / kWordElements + static_cast<int>(threadIdx.x);
    row_ = row;
    active_ = word_ * kWordElements < last;
    is_last_word_ = !active_ || (word_ + 1) * kWordElements >= last;
    OpenSum<T> before = {0, 0};
    OpenSum<T> behind = {0, call_.n};
    if (call_.tiles != nullptr) {
      const TileSums* tiles = call_.tiles + row * tile_count();
      before = sum_before(tiles, tile);
      behind = sum_behind(tiles, tile);
    }
    const int warp_elements = min(32 * kWordElements, last - first - warp_ * 32 * kWordElements);
    run(row, warp_elements, before, behind);
  }

  /// Leaves the sums of a tile for its neighbours.
  __device__ void sum_tile(std::int64_t row, std::int32_t tile) noexcept {
    const std::int32_t first = tile * kBackwardTile;
    const std::int32_t last = min(first + kBackwardTile, call_.n);
    word_ = first / kWordElements + static_cast<int>(threadIdx.x);
    row_ = row;
    active_ = word_ * kWordElements < last;
    const int warp_elements = min(32 * kWordElements, last - first - warp_ * 32 * kWordElements);
    load(row, warp_elements);
    const std::uint32_t starts = starts_of(codes_);
    T head = 0;
    T tail = 0;
    bool any = false;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      if ((starts >> (2 * i) & 1U) != 0) {
        if (!any) head = tail;
        any = true;
        tail = 0;
      }
      tail += values_[i];
    }
    if (!any) head = tail;
    // In the order of the words, by one thread: exact to the type, and rare.
    __syncthreads();
    T* heads = reinterpret_cast<T*>(staging_block());
    T* tails = heads + blockDim.x;
    std::int32_t* first_starts = reinterpret_cast<std::int32_t*>(tails + blockDim.x);
    std::int32_t* last_starts = first_starts + blockDim.x;
    heads[threadIdx.x] = head;
    tails[threadIdx.x] = tail;
    first_starts[threadIdx.x] =
        any ? word_ * kWordElements + (__ffs(static_cast<int>(starts)) - 1) / 2 : -1;
    last_starts[threadIdx.x] =
        any ? word_ * kWordElements + (31 - __clz(static_cast<int>(starts))) / 2 : -1;
    __syncthreads();
    if (threadIdx.x != 0) return;
    TileSums sums = {0, 0, 0, -1, -1};
    for (unsigned t = 0; t < blockDim.x; ++t) {
      if (first_starts[t] < 0) {
        sums.tail += static_cast<double>(tails[t]);
        continue;
      }
      if (sums.first_start < 0) {
        sums.head = sums.tail + static_cast<double>(heads[t]);
        sums.first_start = first_starts[t];
      }
      sums.tail = static_cast<double>(tails[t]);
      sums.last_start = last_starts[t];
    }
    if (sums.first_start < 0) sums.head = sums.tail;
    call_.tiles[row * tile_count() + tile] = sums;
  }

 private:
  static constexpr int kVectors = kWordElements * sizeof(Storage) / 16;  // a word of codes

  struct alignas(16) Packed {
    Storage item[16 / sizeof(Storage)];
  };
  static constexpr int kPerVector = 16 / sizeof(Storage);

  [[nodiscard]] __device__ std::int32_t tile_count() const noexcept {
    return (call_.n + kBackwardTile - 1) / kBackwardTile;
  }
  [[nodiscard]] __device__ char* staging_block() const noexcept {
    return reinterpret_cast<char*>(staging_ - warp_ * 32 * kVectors);
  }
  /// One bit for each element that starts a segment; a row's first always does.
  [[nodiscard]] __device__ std::uint32_t starts_of(std::uint32_t codes) const noexcept {
    const std::uint32_t starts = (codes | codes >> 1) & 0x55555555U;
    return word_ == 0 ? starts | 1U : starts;
  }

  [[nodiscard]] __device__ OpenSum<T> sum_before(const TileSums* tiles,
                                                 std::int32_t tile) const noexcept {
    double sum = 0;
    for (std::int32_t t = tile - 1; t >= 0; --t) {
      sum += tiles[t].tail;
      if (tiles[t].last_start >= 0) return {static_cast<T>(sum), tiles[t].last_start};
    }
    return {0, 0};
  }
  [[nodiscard]] __device__ OpenSum<T> sum_behind(const TileSums* tiles,
                                                 std::int32_t tile) const noexcept {
    double sum = 0;
    for (std::int32_t t = tile + 1; t < tile_count(); ++t) {
      sum += tiles[t].head;
      if (tiles[t].first_start >= 0) return {static_cast<T>(sum), tiles[t].first_start};
    }
    return {static_cast<T>(sum), call_.n};
  }

  // --- Memory ---

  [[nodiscard]] static __device__ int swizzled(int lane, int vector) noexcept {
    return lane * kVectors + (vector ^ (lane / (8 / kVectors) & (kVectors - 1)));
  }
  /// Where the elements of the warp begin, in whole rows without gaps.
  [[nodiscard]] __device__ std::int64_t warp_offset() const noexcept {
    return kBlockRow ? std::int64_t{word_ - lane_} * kWordElements : 0;
  }

  __device__ void load(std::int64_t first_row, std::int64_t elements) noexcept {
    codes_ = active_ ? call_.partition[row_ * words_ + word_] : 0;
    if (call_.whole_vectors) {
      const Storage* from = call_.grad_y.row(first_row) + warp_offset();
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        const int vector = j * 32 + lane_;
        Packed packed = {};
        if (vector * kPerVector < elements) packed = reinterpret_cast<const Packed*>(from)[vector];
        staging_[swizzled(vector / kVectors, vector % kVectors)] = packed;
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const Packed packed = staging_[swizzled(lane_, i)];
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) values_[i * kPerVector + j] = widen<T>(packed.item[j]);
      }
      return;
    }
    const Storage* from = active_ ? call_.grad_y.row(row_) : nullptr;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const std::int32_t k = word_ * kWordElements + i;
      values_[i] = active_ && k < call_.n ? widen<T>(from[k]) : T(0);
    }
  }

  __device__ void store(std::int64_t first_row, std::int64_t elements) noexcept {
    if (!call_.wants_x) return;
    if (call_.whole_vectors) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        Packed packed;
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) {
          packed.item[j] = narrow<Storage>(values_[i * kPerVector + j]);
        }
        staging_[swizzled(lane_, i)] = packed;
      }
      __syncwarp();
      Storage* to = call_.grad_x.row(first_row) + warp_offset();
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        const int vector = j * 32 + lane_;
        if (vector * kPerVector < elements) {
          reinterpret_cast<Packed*>(to)[vector] =
              staging_[swizzled(vector / kVectors, vector % kVectors)];
        }
      }
      return;
    }
    if (!active_) return;
    Storage* to = call_.grad_x.row(row_);
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const std::int32_t k = word_ * kWordElements + i;
      if (k < call_.n) to[k] = narrow<Storage>(values_[i]);
    }
  }

  // --- Sums ---

  __device__ void run(std::int64_t first_row, std::int64_t elements, OpenSum<T> before,
                      OpenSum<T> behind) noexcept {
    load(first_row, elements);
    const std::uint32_t starts = starts_of(codes_);
    const OpenSum<T> open = sum_up_to_word(starts, before);

    // The mean of the segment that ends before each start, and of the last one.
    const std::uint32_t closes = word_ == 0 ? starts & ~1U : starts;
    const int first_close = __ffs(static_cast<int>(closes)) - 1;
    T means[kWordElements];
    T first_mean = 0;
    T sum = open.sum;
    std::int32_t start = open.start;
    const std::int32_t first_element = word_ * kWordElements;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const bool starts_here = (starts >> (2 * i) & 1U) != 0;
      means[i] = mean_of(sum, first_element + i - start);
      if (2 * i == first_close) first_mean = means[i];
      sum = starts_here ? values_[i] : sum + values_[i];
      start = starts_here ? first_element + i : start;
    }
    const T last_mean = mean_of(sum + behind.sum, behind.start - start);
    const bool has_end = closes != 0 || is_last_word_;
    T current = mean_behind_word(closes != 0 ? first_mean : last_mean, has_end);
    if (is_last_word_) current = last_mean;

    // Backwards, each element takes the mean of its segment. A segment of one element
    // is that element, bit for bit.
    const std::uint32_t alone = starts & ends_of(starts);
    const bool per_edge = active_ && call_.lam_data != nullptr && call_.lam.size > 1;
    const std::int64_t lam_offset = per_edge ? call_.lam.offset(row_) : 0;
    T lam_sum = 0;
#pragma unroll
    for (int i = kWordElements - 1; i >= 0; --i) {
      const unsigned code = codes_ >> (2 * i) & 3U;
      const T step = means[i] - current;
      const bool signs = code == 1U || code == 2U;
      const T lam_term = signs && !(word_ == 0 && i == 0) ? (code == 1U ? step : -step) : T(0);
      lam_sum += lam_term;
      if (per_edge) store_edge(lam_offset, i, lam_term);
      const bool is_alone = (alone >> (2 * i) & 1U) != 0;
      const T through = call_.sharp ? T(2) * values_[i] - current : current;
      values_[i] = is_alone ? values_[i] : through;
      if ((closes >> (2 * i) & 1U) != 0) current = means[i];
    }
    store(first_row, elements);
    if (call_.lam_data != nullptr && call_.lam.size == 1) {
      store_row_lam(static_cast<double>(call_.sharp ? -lam_sum : lam_sum));
    }
  }

  /// The sum of the segment that is open where this word begins.
  [[nodiscard]] __device__ OpenSum<T> sum_up_to_word(std::uint32_t starts,
                                                     OpenSum<T> before) noexcept {
    T tail = 0;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      tail = (starts >> (2 * i) & 1U) != 0 ? values_[i] : tail + values_[i];
    }
    const std::int32_t last_start =
        starts != 0 ? word_ * kWordElements + (31 - __clz(static_cast<int>(starts))) / 2 : 0;
    const unsigned with_start = __ballot_sync(kWarp, starts != 0);
    const unsigned up_to = with_start & (kWarp >> (31 - lane_));
    const int from = 31 - __clz(static_cast<int>(up_to));  // -1: none
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
      const T other = __shfl_up_sync(kWarp, tail, d);
      if (lane_ >= d && lane_ - d >= from) tail += other;
    }
    const std::int32_t start = __shfl_sync(kWarp, last_start, from < 0 ? 0 : from);
    T sum = __shfl_up_sync(kWarp, tail, 1);
    std::int32_t open_start = __shfl_up_sync(kWarp, from < 0 ? -1 : start, 1);
    if (lane_ == 0) {
      sum = 0;
      open_start = -1;
    }
    if constexpr (kBlockRow) {
      __syncthreads();
      if (lane_ == 31) {
        shared_->tail[warp_] = tail;
        shared_->tail_start[warp_] = from < 0 ? -1 : start;
      }
      __syncthreads();
      if (open_start < 0) {
        for (int w = warp_ - 1; w >= 0 && open_start < 0; --w) {
          sum += shared_->tail[w];
          open_start = shared_->tail_start[w];
        }
        if (open_start < 0) {
          sum += before.sum;
          open_start = before.start;
        }
      }
    }
    return {sum, open_start};
  }

  /// The mean of the segment that is open where this word ends: the nearest word
  /// behind it in which a segment ends knows.
  [[nodiscard]] __device__ T mean_behind_word(T first_mean, bool has_end) noexcept {
    const unsigned ends = __ballot_sync(kWarp, has_end);
    const unsigned behind = lane_ == 31 ? 0U : ends & (0xFFFFFFFEU << lane_);
    const T mean = __shfl_sync(kWarp, first_mean, behind != 0 ? __ffs(static_cast<int>(behind)) - 1
                                                              : lane_);
    if constexpr (kBlockRow) {
      const int first = ends != 0 ? __ffs(static_cast<int>(ends)) - 1 : 0;
      const T of_warp = __shfl_sync(kWarp, first_mean, first);
      if (lane_ == 0) {
        shared_->first_mean[warp_] = of_warp;
        shared_->has_end[warp_] = ends != 0;
      }
      __syncthreads();
      if (behind == 0) {
        for (unsigned w = static_cast<unsigned>(warp_) + 1; w < blockDim.x / 32; ++w) {
          if (shared_->has_end[w]) return shared_->first_mean[w];
        }
      }
    }
    return mean;
  }

  /// One bit for each element that ends a segment.
  [[nodiscard]] __device__ std::uint32_t ends_of(std::uint32_t starts) const noexcept {
    const std::uint32_t next = __shfl_down_sync(kWarp, starts, 1);
    const std::int32_t left = call_.n - word_ * kWordElements;  // elements of the row
    if (left <= kWordElements) return starts >> 2 | 1U << (2 * (left - 1) & 31);
    const bool is_last_here = kBlockRow && (lane_ == 31 || is_last_word_);
    const bool next_starts = is_last_here
                                 ? (call_.partition[row_ * words_ + word_ + 1] & 3U) != 0
                                 : (next & 1U) != 0;
    return starts >> 2 | (next_starts ? 1U << 30 : 0U);
  }

  __device__ void store_edge(std::int64_t lam_offset, int i, T term) const noexcept {
    const std::int32_t k = word_ * kWordElements + i;
    if (k == 0 || k >= call_.n) return;
    store_grad_lam(call_, lam_offset + (k - 1) * call_.lam.stride,
                   static_cast<double>(call_.sharp ? -term : term));
  }

  __device__ void store_row_lam(double grad_lam) noexcept {
    if constexpr (kBlockRow) {
#pragma unroll
      for (int d = 16; d > 0; d >>= 1) grad_lam += __shfl_xor_sync(kWarp, grad_lam, d);
      if (lane_ == 0) shared_->grad_lam[warp_] = grad_lam;
      __syncthreads();
      if (threadIdx.x != 0) return;
      double sum = 0;
      for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += shared_->grad_lam[w];
      if (call_.tiles == nullptr) {
        store_grad_lam(call_, call_.lam.offset(row_), sum);
      } else {
        call_.tiles[row_ * tile_count() + word_ * kWordElements / kBackwardTile].grad_lam = sum;
      }
    } else {
#pragma unroll
      for (int d = 1; d < 32; d <<= 1) {
        const double other = __shfl_down_sync(kWarp, grad_lam, d);
        if (word_ + d < words_ && lane_ + d < 32) grad_lam += other;
      }
      if (active_ && word_ == 0) store_grad_lam(call_, call_.lam.offset(row_), grad_lam);
    }
  }

  const BackwardRows<Storage>& call_;
  const int lane_;
  const int warp_;
  const std::int32_t words_;
  Packed* const staging_;
  Shared* const shared_;

  std::int64_t row_ = 0;
  std::int32_t word_ = 0;
  bool active_ = false;
  bool is_last_word_ = false;
  std::uint32_t codes_ = 0;
  T values_[kWordElements];
};

}  // namespace tautline::detail
