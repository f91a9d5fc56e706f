// Sums over intervals of a row, read off running totals: between(a, b) is the
// sum of elements a .. b - 1. Shared by host and device; knows nothing else.
#pragma once

#include <cstdint>

namespace tautline::detail {

/// The width of an interval where every element has weight 1.
template <class T>
struct UnitSums {
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return static_cast<T>(b - a);
  }
};

/// Running totals in T. An interval's error is that of the totals, not of the
/// interval: enough where all elements are of one size.
template <class T>
struct PlainSums {
  T* total;  // elements + 1

  constexpr void start() noexcept { total[0] = 0; }
  constexpr void append(std::int32_t i, T value) noexcept { total[i + 1] = total[i] + value; }
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return total[b] - total[a];
  }
};

/// Running totals carried in twice T's precision (Knuth's two-sum), so that a
/// short interval of small weights survives next to large ones.
template <class T>
struct CompensatedSums {
  T* total;  // elements + 1
  T* error;  // elements + 1: what `total` lacks

  constexpr void start() noexcept { total[0] = error[0] = 0; }
  constexpr void append(std::int32_t i, T value) noexcept {
    const T sum = total[i] + value;
    const T part = sum - total[i];
    const T lost = (total[i] - (sum - part)) + (value - part);
    total[i + 1] = sum;
    error[i + 1] = error[i] + lost;
  }
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return (total[b] - total[a]) + (error[b] - error[a]);
  }
};

}  // namespace tautline::detail
