// The threads of a block as step/newton_threads.h wants them: they hold one row together.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "step/newton_threads.h"

namespace tautline::detail {

template <int kThreads>
class RowThreads {
 public:
  static constexpr int kWarps = kThreads / kLanes;
  static constexpr int kMostSums = 5;
  /// Shared memory: so many numbers a warp, where there are several.
  static constexpr int kSharedDoubles = kWarps == 1 ? 0 : kWarps * kMostSums;

  __device__ explicit RowThreads(double* shared) noexcept
      : thread_(static_cast<int>(threadIdx.x)),
        lane_(thread_ % kLanes),
        warp_(thread_ / kLanes),
        shared_(shared) {}

  [[nodiscard]] __device__ int thread() const noexcept { return thread_; }
  [[nodiscard]] static constexpr int count() noexcept { return kThreads; }

  static __device__ void sync() noexcept {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  [[nodiscard]] static __device__ bool any(bool condition) noexcept {
    if constexpr (kWarps == 1) {
      return __any_sync(kWarp, condition) != 0;
    } else {
      return __syncthreads_or(static_cast<int>(condition)) != 0;
    }
  }

  /// The value of the thread before; 0 in the first.
  [[nodiscard]] __device__ double before(double own) const noexcept {
    double value = __shfl_up_sync(kWarp, own, 1);
    if constexpr (kWarps > 1) {
      tell_warps(lane_ == kLanes - 1, {own});
      if (lane_ == 0 && warp_ > 0) value = told(warp_ - 1, 0);
    }
    return thread_ == 0 ? 0 : value;
  }
  /// That of the thread behind; 0 in the last.
  [[nodiscard]] __device__ double behind(double own) const noexcept {
    double value = __shfl_down_sync(kWarp, own, 1);
    if constexpr (kWarps > 1) {
      tell_warps(lane_ == 0, {own});
      if (lane_ == kLanes - 1 && warp_ + 1 < kWarps) value = told(warp_ + 1, 0);
    }
    return thread_ == kThreads - 1 ? 0 : value;
  }

  /// The sums over all threads, in each of them; always added in the same order.
  template <int kCount>
  __device__ void sum(double (&values)[kCount]) const noexcept {
    static_assert(kCount <= kMostSums);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      for (int apart = kLanes / 2; apart > 0; apart /= 2) {
        values[i] += __shfl_xor_sync(kWarp, values[i], apart);
      }
    }
    if constexpr (kWarps > 1) {
      tell_warps(lane_ == 0, values);
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        values[i] = 0;
        for (int w = 0; w < kWarps; ++w) values[i] += told(w, i);
      }
    }
  }
  [[nodiscard]] __device__ double largest(double own) const noexcept {
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      own = fmax(own, __shfl_xor_sync(kWarp, own, apart));
    }
    if constexpr (kWarps > 1) {
      tell_warps(lane_ == 0, {own});
      for (int w = 0; w < kWarps; ++w) own = fmax(own, told(w, 0));
    }
    return own;
  }

  /// The segment that is open before the thread's first sample, from what each knows of its own.
  [[nodiscard]] __device__ OpenSegment open_before(OpenSegment own) const noexcept {
    for (int apart = 1; apart < kLanes; apart *= 2) {
      const OpenSegment left = shuffled_up(own, apart);
      if (lane_ >= apart) own = left.joined(own);
    }
    OpenSegment before = shuffled_up(own, 1);
    if (lane_ == 0) before = {false, 0, 0, 0};
    if constexpr (kWarps > 1) {
      tell_warps(lane_ == kLanes - 1,
                 {own.is_own ? 1.0 : 0.0, static_cast<double>(own.start), own.sum, own.u});
      OpenSegment of_warps = {false, 0, 0, 0};
      for (int w = 0; w < warp_; ++w) {
        of_warps = of_warps.joined(
            {told(w, 0) != 0, static_cast<std::int32_t>(told(w, 1)), told(w, 2), told(w, 3)});
      }
      before = of_warps.joined(before);
    }
    return before;
  }

  /// The value of the nearest thread behind that has one.
  [[nodiscard]] __device__ double next(bool has_value, double value) const noexcept {
    const unsigned having = __ballot_sync(kWarp, has_value);
    const unsigned later = lane_ == kLanes - 1 ? 0 : having & (~0U << (lane_ + 1));
    double found = __shfl_sync(kWarp, value, first_of(later));
    if constexpr (kWarps > 1) {
      const double first = __shfl_sync(kWarp, value, first_of(having));
      tell_warps(lane_ == 0, {having != 0 ? 1.0 : 0.0, first});
      bool is_found = later != 0;
      for (int w = warp_ + 1; w < kWarps && !is_found; ++w) {
        is_found = told(w, 0) != 0;
        if (is_found) found = told(w, 1);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] static __device__ int first_of(unsigned lanes) noexcept {
    return lanes != 0 ? __ffs(static_cast<int>(lanes)) - 1 : 0;
  }
  [[nodiscard]] static __device__ OpenSegment shuffled_up(const OpenSegment& own,
                                                          int apart) noexcept {
    return {__shfl_up_sync(kWarp, static_cast<int>(own.is_own), apart) != 0,
            __shfl_up_sync(kWarp, own.start, apart), __shfl_up_sync(kWarp, own.sum, apart),
            __shfl_up_sync(kWarp, own.u, apart)};
  }

  /// One lane of each warp tells the others some numbers.
  template <int kCount>
  __device__ void tell_warps(bool is_teller, const double (&numbers)[kCount]) const noexcept {
    static_assert(kCount <= kMostSums);
    __syncthreads();  // all have read what was told before
    if (is_teller) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) shared_[i * kWarps + warp_] = numbers[i];
    }
    __syncthreads();
  }
  [[nodiscard]] __device__ double told(int warp, int i) const noexcept {
    return shared_[i * kWarps + warp];
  }

  const int thread_;
  const int lane_;
  const int warp_;
  double* const shared_;
};

}  // namespace tautline::detail
