// Powers of two that keep a row's sums and products inside float64's range.
// Multiplying by them rounds nothing.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "step/host_device.h"

namespace tautstring::detail {

/// Magnitudes within these limits need no scaling: products of sums stay finite and normal.
inline constexpr double kLargest = 0x1p200;
inline constexpr double kSmallest = 0x1p-200;

/// Larger than any dual variable at these magnitudes, and small enough for products: the substitute
/// for an infinite lam.
inline constexpr double kUnbinding = 0x1p450;

/// The largest |value|; NaN or infinite if a value is.
TAUTSTRING_HOST_DEVICE inline double largest_size(const double* values,
                                                  std::int32_t count) noexcept {
  double largest = 0;
  for (std::int32_t i = 0; i < count; ++i) {
    const double size = std::abs(values[i]);
    if (!std::isfinite(size)) return size;
    largest = std::max(largest, size);
  }
  return largest;
}

/// The power of two that brings `size` near 1 if it is extreme, else 1.
TAUTSTRING_HOST_DEVICE inline double choose_scale(double size) noexcept {
  if (size == 0 || (size >= kSmallest && size <= kLargest)) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(size), -1000, 1000));  // its inverse is finite too
}

constexpr void multiply(double* values, std::int32_t count, double factor) noexcept {
  if (factor == 1) return;
  for (std::int32_t i = 0; i < count; ++i) values[i] *= factor;
}

/// Limits values to +-`largest`.
constexpr void limit_sizes(double* values, std::int32_t count, double largest) noexcept {
  for (std::int32_t i = 0; i < count; ++i) values[i] = std::clamp(values[i], -largest, largest);
}

/// Whether a power of two and its inverse can both be used as factors.
constexpr bool is_normal(double factor) noexcept {
  return factor >= std::numeric_limits<double>::min() &&
         factor <= std::numeric_limits<double>::max();
}

/// lam in the scale of x and weight, made finite. A lam that is not 0 does not become 0.
constexpr double scale_lam(double lam, double scale, double weight_scale) noexcept {
  if (lam == 0) return 0;
  const double factor = scale * weight_scale;
  const double scaled = is_normal(factor) ? lam * factor : lam * scale * weight_scale;
  // A copy, because a device cannot take the address of a host constant.
  const double most = kUnbinding;
  return std::clamp(scaled, std::numeric_limits<double>::denorm_min(), most);
}

/// The inverse, for any lam: it overflows only if the result does.
constexpr double unscaled(double lam, double scale, double weight_scale) noexcept {
  const double factor = scale * weight_scale;
  return is_normal(factor) ? lam / factor : lam / scale / weight_scale;
}

}  // namespace tautstring::detail
