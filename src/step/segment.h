// Values and derivatives on one segment, from sums over it: the closed forms that forward, backward
// and jvp share on all devices.
#pragma once

namespace tautstring::detail {

/// What the two borders of a segment add to the sum over it. The signs are those of the solution's
/// jumps, and 0 at the ends of a row, which have no lam. `lams` is read only at jumps.
template <class T, class Lams>
[[nodiscard]] constexpr T border_term(const Lams& lams, int left_edge, int left_sign,
                                      int right_edge, int right_sign) noexcept {
  T term = 0;
  if (right_sign != 0) term += static_cast<T>(right_sign) * lams[right_edge];
  if (left_sign != 0) term -= static_cast<T>(left_sign) * lams[left_edge];
  return term;
}

/// The solution on a segment whose first sample is `first`, with `residual` the sum of weight *
/// (x - first). Summing differences keeps all digits of the row's range, however far the row is
/// from 0.
template <class T>
[[nodiscard]] constexpr T segment_value(T first, T residual, T borders, T width) noexcept {
  const T sum = residual + borders;
  return sum == T(0) ? first : first + sum / width;
}

/// Sharpening: the sample mirrored at its smoothed value. If both are equal it is unchanged, bit
/// for bit.
template <class T>
[[nodiscard]] constexpr T mirror(T sample, T smooth) noexcept {
  return sample == smooth ? sample : sample + (sample - smooth);
}

/// The smooth value of a result, which is either sharpened or that value itself.
template <class T>
[[nodiscard]] constexpr T mirror_back(T result, T sample, bool sharp) noexcept {
  return sharp ? sample - (result - sample) : result;
}

/// Keeps rounding from reversing a jump: after a border marked up the value is not below that of
/// its left neighbour, and after one marked down not above it.
template <class T>
[[nodiscard]] constexpr T respect_jump(T value, T left_value, int sign) noexcept {
  if (sign > 0 && value < left_value) return left_value;
  if (sign < 0 && value > left_value) return left_value;
  return value;
}

}  // namespace tautstring::detail
