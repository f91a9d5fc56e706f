// Sums of gradients: float32 in groups that keep them short, float64 with what each
// addition loses carried along, so that gradients far from 0 keep their digits.
#pragma once

#include <cstdint>

namespace tautline::detail {

template <class T>
struct RunningSum;

template <>
struct RunningSum<float> {
  float value = 0;

  __device__ void add(float other) noexcept { value += other; }
  __device__ void add(RunningSum other) noexcept { value += other.value; }
  [[nodiscard]] __device__ double wide() const noexcept { return static_cast<double>(value); }

  /// One rounding more than a division has in rare cases, and a third of its work.
  [[nodiscard]] __device__ float mean(float count) const noexcept {
    float share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(count));
    const float mean = value * share;
    return __fmaf_rn(__fmaf_rn(-mean, count, value), share, mean);
  }
};

template <>
struct RunningSum<double> {
  double value = 0;
  double rest = 0;

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
  [[nodiscard]] __device__ double wide() const noexcept { return value + rest; }
  [[nodiscard]] __device__ double mean(double count) const noexcept {
    return (value + rest) / count;
  }
};

}  // namespace tautline::detail
