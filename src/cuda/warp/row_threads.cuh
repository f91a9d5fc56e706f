// The threads of a block in the form that step/newton_threads.h needs: together they hold one row.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"
#include "step/newton_threads.h"

namespace tautstring::detail {

template <int kThreads>
class RowThreads {
 public:
  static constexpr int kWarps = kThreads / kLanes;
  static constexpr int kMostTold = 5;
  /// Shared memory if there are several warps: what each warp shares with the others. Allocated
  /// twice, so that one copy can be read while the next is written.
  static constexpr int kSharedDoubles = kWarps == 1 ? 0 : 2 * kWarps * kMostTold;

  __device__ explicit RowThreads(double* shared) noexcept
      : thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % kLanes),
        warp_(thread_ / kLanes),
        told_(shared),
        spare_(shared + kWarps * kMostTold) {}

  [[nodiscard]] __device__ int thread() const noexcept { return thread_; }
  [[nodiscard]] static constexpr int count() noexcept { return kThreads; }

  static __device__ void sync() noexcept {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  /// Accurate except for the last bits.
  [[nodiscard]] static __device__ double near_reciprocal(std::int32_t length) noexcept {
    return DeviceArithmetic<double>::reciprocal(length);
  }
  [[nodiscard]] static __device__ bool any(bool condition) noexcept {
    if constexpr (kWarps == 1) {
      return __any_sync(kWarp, condition) != 0;
    } else {
      return __syncthreads_or(static_cast<int>(condition)) != 0;
    }
  }

  /// The last value of the previous thread and the first of the next one.
  [[nodiscard]] __device__ Neighbours neighbours(double first, double last) noexcept {
    Neighbours found = {__shfl_up_sync(kWarp, last, 1), __shfl_down_sync(kWarp, first, 1)};
    if constexpr (kWarps > 1) {
      next_tell();
      if (lane_ == 0) tell(0, first);
      if (lane_ == kLanes - 1) tell(1, last);
      __syncthreads();
      if (lane_ == 0 && warp_ > 0) found.before = told(warp_ - 1, 1);
      if (lane_ == kLanes - 1 && warp_ + 1 < kWarps) found.behind = told(warp_ + 1, 0);
    }
    if (thread_ == 0) found.before = 0;
    if (thread_ == kThreads - 1) found.behind = 0;
    return found;
  }

  /// The last value of the nearest earlier thread that has one, and the first of the nearest later
  /// one.
  [[nodiscard]] __device__ EdgesAround around(bool has, const EdgeValue& first,
                                              const EdgeValue& last) noexcept {
    const unsigned having = __ballot_sync(kWarp, has);
    const unsigned before = having & ((1U << lane_) - 1);
    const unsigned behind = having & ~((2U << lane_) - 1);
    EdgesAround found = {shuffled(last, last_lane(before)), shuffled(first, first_lane(behind))};
    if constexpr (kWarps > 1) {
      next_tell();
      if (lane_ == 0) tell(0, having != 0 ? 1 : 0);
      if (has && lane_ == first_lane(having)) {
        tell(1, first.edge);
        tell(2, first.value);
      }
      if (has && lane_ == last_lane(having)) {
        tell(3, last.edge);
        tell(4, last.value);
      }
      __syncthreads();
      if (before == 0) found.left = told_before();
      if (behind == 0) found.right = told_behind();
    } else {
      if (before == 0) found.left = kNoEdge;
      if (behind == 0) found.right = kNoEdge;
    }
    return found;
  }

  /// Replaces the values by their sums over all threads, always added in the same order. Returns
  /// whether says_so is true in any thread.
  template <int kCount>
  __device__ bool sum(double (&values)[kCount], bool says_so) noexcept {
    static_assert(kCount < kMostTold);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      for (int apart = kLanes / 2; apart > 0; apart /= 2) {
        values[i] += __shfl_xor_sync(kWarp, values[i], apart);
      }
    }
    says_so = __any_sync(kWarp, says_so) != 0;
    if constexpr (kWarps > 1) {
      next_tell();
      if (lane_ == 0) {
#pragma unroll
        for (int i = 0; i < kCount; ++i) tell(i, values[i]);
        tell(kCount, says_so ? 1 : 0);
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] = 0;
        for (int w = 0; w < kWarps; ++w) values[i] += told(w, i);
      }
      for (int w = 0; w < kWarps; ++w) says_so = says_so || told(w, kCount) != 0;
    }
    return says_so;
  }
  [[nodiscard]] __device__ double largest(double own) noexcept {
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      own = fmax(own, __shfl_xor_sync(kWarp, own, apart));
    }
    if constexpr (kWarps > 1) {
      next_tell();
      if (lane_ == 0) tell(0, own);
      __syncthreads();
      for (int w = 0; w < kWarps; ++w) own = fmax(own, told(w, 0));
    }
    return own;
  }

  /// The sum over all earlier threads.
  [[nodiscard]] __device__ double sum_before(double own) noexcept {
    return sum_since(false, own);
  }
  /// The sum over the earlier threads, from the nearest one that starts a new sum.
  [[nodiscard]] __device__ double sum_since(bool starts, double own) noexcept {
    const unsigned starting = __ballot_sync(kWarp, starts);
    const unsigned up_to_lane = starting & ((2U << lane_) - 1);
    const int first = up_to_lane == 0 ? 0 : last_lane(up_to_lane);
    for (int apart = 1; apart < kLanes; apart *= 2) {
      const double left = __shfl_up_sync(kWarp, own, apart);
      if (lane_ - apart >= first) own += left;
    }
    double before = __shfl_up_sync(kWarp, own, 1);
    if (lane_ == 0) before = 0;
    if constexpr (kWarps > 1) {
      next_tell();
      if (lane_ == kLanes - 1) {
        tell(0, starting != 0 ? 1 : 0);
        tell(1, own);
      }
      __syncthreads();
      double of_warps = 0;
      for (int w = 0; w < warp_; ++w) of_warps = (told(w, 0) != 0 ? 0 : of_warps) + told(w, 1);
      if ((starting & ((1U << lane_) - 1)) == 0) before += of_warps;
    }
    return before;
  }

 private:
  static constexpr EdgeValue kNoEdge = {-1, 0};

  /// The first lane of a set; any lane if the set is empty.
  [[nodiscard]] static __device__ int first_lane(unsigned lanes) noexcept {
    return (__ffs(static_cast<int>(lanes)) - 1) & (kLanes - 1);
  }
  [[nodiscard]] static __device__ int last_lane(unsigned lanes) noexcept {
    return (kLanes - 1 - __clz(static_cast<int>(lanes))) & (kLanes - 1);
  }
  [[nodiscard]] static __device__ EdgeValue shuffled(const EdgeValue& own, int lane) noexcept {
    return {__shfl_sync(kWarp, own.edge, lane), __shfl_sync(kWarp, own.value, lane)};
  }

  // --- Exchange among warps: some lanes write, all wait, all read ---

  __device__ void next_tell() noexcept {
    double* const told = told_;
    told_ = spare_;
    spare_ = told;
  }
  __device__ void tell(int i, double number) const noexcept {
    told_[i * kWarps + warp_] = number;
  }
  [[nodiscard]] __device__ double told(int warp, int i) const noexcept {
    return told_[i * kWarps + warp];
  }
  [[nodiscard]] __device__ EdgeValue told_edge(int warp, int i) const noexcept {
    return {static_cast<std::int32_t>(told(warp, i)), told(warp, i + 1)};
  }
  [[nodiscard]] __device__ EdgeValue told_before() const noexcept {
    for (int w = warp_ - 1; w >= 0; --w) {
      if (told(w, 0) != 0) return told_edge(w, 3);
    }
    return kNoEdge;
  }
  [[nodiscard]] __device__ EdgeValue told_behind() const noexcept {
    for (int w = warp_ + 1; w < kWarps; ++w) {
      if (told(w, 0) != 0) return told_edge(w, 1);
    }
    return kNoEdge;
  }

  const int thread_;
  const int lane_;
  const int warp_;
  double* told_;
  double* spare_;
};

}  // namespace tautstring::detail
