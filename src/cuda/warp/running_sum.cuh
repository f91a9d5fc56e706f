// Sums of gradients. float32 adds plainly, in short groups. float64 carries the rounding error of
// each addition along, so that gradients far from 0 keep their digits.
//
// An empty sum is -0: adding it changes no number, not even -0.
#pragma once

#include <cstdint>

namespace tautstring::detail {

template <class T>
struct RunningSum;

template <>
struct RunningSum<float> {
  float value = -0.0F;

  __device__ void add(float other) noexcept { value += other; }
  __device__ void add(RunningSum other) noexcept { value += other.value; }
  [[nodiscard]] __device__ float total() const noexcept { return value; }
  [[nodiscard]] __device__ double wide() const noexcept { return static_cast<double>(value); }

  /// In rare cases rounded once more than by a division, at a third of its cost. For one element,
  /// that element bit for bit. Cheap enough to compute even when not wanted.
  [[nodiscard]] __device__ float mean(float count, bool /*wanted*/) const noexcept {
    float share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(count));
    const float mean = value * share;
    const float rest = __fmaf_rn(-mean, count, value);
    return count == 1 ? mean : __fmaf_rn(rest, share, mean);
  }
  [[nodiscard]] __device__ RunningSum from_lane_before(int distance) const noexcept {
    return {__shfl_up_sync(0xFFFFFFFFU, value, distance)};
  }
};

template <>
struct RunningSum<double> {
  double value = -0.0;
  double rest = -0.0;

  __device__ void add(double other) noexcept {
    const double sum = value + other;
    const double part = sum - value;
    rest += (value - (sum - part)) + (other - part);
    value = sum;
  }
  __device__ void add(RunningSum other) noexcept {
    add(other.value);
    rest += other.rest;
  }
  [[nodiscard]] __device__ double total() const noexcept { return value + rest; }
  [[nodiscard]] __device__ double wide() const noexcept { return value + rest; }
  [[nodiscard]] __device__ double mean(double count, bool wanted) const noexcept {
    if (!wanted) return 0;
    return count == 1 ? value : (value + rest) / count;
  }
  [[nodiscard]] __device__ RunningSum from_lane_before(int distance) const noexcept {
    return {__shfl_up_sync(0xFFFFFFFFU, value, distance),
            __shfl_up_sync(0xFFFFFFFFU, rest, distance)};
  }
};

}  // namespace tautstring::detail
