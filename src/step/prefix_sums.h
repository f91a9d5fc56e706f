// Sums over intervals of a row, from running totals: between(a, b) is the sum of elements a ..
// b - 1. Shared by host and device; knows nothing else.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// The width of an interval if every element has weight 1.
template <class T>
struct UnitSums {
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return static_cast<T>(b - a);
  }
};

/// Running totals in T. The error of an interval is that of the totals, which is good enough if all
/// elements have similar magnitudes.
template <class T>
struct PlainSums {
  T* total;  // elements + 1

  constexpr void start() noexcept { total[0] = 0; }
  constexpr void append(std::int32_t i, T value) noexcept { total[i + 1] = total[i] + value; }
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return total[b] - total[a];
  }
};

/// Running totals carried in three times T's precision (Knuth's two-sum, twice), so that a short
/// interval of small weights stays accurate next to large ones.
template <class T>
struct CompensatedSums {
  T* total;  // elements + 1 each: the sum, its error, and the error of that
  T* error;
  T* rest;

  constexpr void start() noexcept { total[0] = error[0] = rest[0] = 0; }
  constexpr void append(std::int32_t i, T value) noexcept {
    const T lost = add(total[i], value, total[i + 1]);
    rest[i + 1] = rest[i] + add(error[i], lost, error[i + 1]);
  }
  [[nodiscard]] constexpr T between(std::int32_t a, std::int32_t b) const noexcept {
    return (total[b] - total[a]) + ((error[b] - error[a]) + (rest[b] - rest[a]));
  }

 private:
  /// sum = a + b rounded; returns the exact rounding error.
  static constexpr T add(T a, T b, T& sum) noexcept {
    sum = a + b;
    const T part = sum - a;
    return (a - (sum - part)) + (b - part);
  }
};

}  // namespace tautstring::detail
