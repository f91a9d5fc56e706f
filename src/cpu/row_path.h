// Chooses which code solves a row. The choice depends on that row only, so that the result does not
// depend on its neighbours.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "cpu/vector/vector_kernels.h"

namespace tautstring::detail {

enum class RowPath : std::uint8_t {
  lanes,
  flat,     // lam is so large that the result is the mean
  wide,     // lam is so large that T's arithmetic is too coarse
  unusual,  // not finite, near the ends of T's range, or with an edge of lam 0
};

/// Smallest and largest lam of a row.
struct LamExtent {
  double low;
  double high;
};

/// Beyond this many times the range, the last bit of lam is too large a fraction of the range:
/// float32 cannot add samples to a dual variable of that size.
template <class T>
inline constexpr T kLargestLam = std::is_same_v<T, float> ? T{16} : std::numeric_limits<T>::max();

/// Magnitudes up to this leave room for the sums of any row.
template <class T>
inline constexpr T kLargestSize = std::is_same_v<T, float> ? T{0x1p90F} : static_cast<T>(0x1p900);

/// No dual variable of n samples of this extent reaches this.
template <class T>
[[nodiscard]] T unbinding_lam(const Extent<T>& extent, std::int32_t n) noexcept {
  return static_cast<T>(n) * (extent.high - extent.low);
}

template <class T>
[[nodiscard]] bool is_unusual(const Extent<T>& extent) noexcept {
  if (!extent.finite) return true;
  const T range = extent.high - extent.low;
  const T size = std::max(std::abs(extent.low), std::abs(extent.high));
  return size > kLargestSize<T> || (range != 0 && range < 1 / kLargestSize<T>);
}

/// The path of a row whose samples are not unusual.
template <class T>
[[nodiscard]] RowPath choose_path(const Extent<T>& extent, LamExtent lam, std::int32_t n) noexcept {
  if (lam.low == 0) return RowPath::unusual;
  const auto range = static_cast<double>(extent.high - extent.low);
  const auto unbinding = static_cast<double>(unbinding_lam(extent, n));
  if (lam.low >= unbinding / 4) return RowPath::flat;
  if (lam.low < static_cast<double>(1 / kLargestSize<T>)) return RowPath::unusual;
  if (std::min(lam.high, unbinding) > static_cast<double>(kLargestLam<T>) * range) {
    return RowPath::wide;
  }
  return RowPath::lanes;
}

/// Whether a row with one lam certainly goes to the lanes, with offset 0. Most rows do, and this is
/// faster than calling choose_path and choose_offset.
template <class T>
[[nodiscard]] bool is_plain(const Extent<T>& extent, T lam, std::int32_t n) noexcept {
  const T range = extent.high - extent.low;
  return extent.finite && extent.low <= 0 && extent.high >= 0 && range < kLargestSize<T> &&
         range > 2 / kLargestSize<T> && lam > 2 / kLargestSize<T> && lam < 8 * range &&
         8 * lam < static_cast<T>(n) * range;
}

/// The offset to subtract from the samples: 0, or, if all are further from 0 than from one another,
/// the one nearest to 0. Subtracting it is exact.
template <class T>
[[nodiscard]] T choose_offset(const Extent<T>& extent) noexcept {
  const T nearest = extent.low > 0 ? extent.low : extent.high;
  const bool one_side = extent.low > 0 || extent.high < 0;
  return one_side && std::abs(nearest) >= extent.high - extent.low ? nearest : T{0};
}

}  // namespace tautstring::detail
