// How good a 2D result is, edge by edge and pixel by pixel: the arithmetic that all devices share.
// Of any Y, by dual variables u of the edges along rows and v of those along columns within their
// bounds:
//   gap = sum over edges (lam |rise| - dual * rise) + 1/2 |P + Q - (X - Y)|^2,
// where P and Q are what u and v make of the pixels. All terms are >= 0, and whatever u and v are
// the objective at Y is no further above the optimum. So where one is at its bound but for rounding
// it is taken for that, which is paid for by what it then lacks in P or Q.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "step/host_device.h"

namespace tautstring::detail {

/// How many iterations go by between looks at the gap.
inline constexpr int kIterationsBetweenLooks = 4;

struct Quality {
  double gap = 0;
  double objective = 0;
};

/// What is reported of an image whose gap and objective are computed times the square of `scale`.
struct ReportedQuality {
  double gap;
  double objective;
  bool converged;
};

[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool is_within(const Quality& quality,
                                                           double tol) noexcept {
  return std::isfinite(quality.gap) && quality.gap <= tol * quality.objective;
}

/// `tol` is the tolerance that the image is held to. Where the result overflows there is no bound.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline ReportedQuality reported(const Quality& quality,
                                                                     double scale,
                                                                     double tol) noexcept {
  const double gap =
      quality.gap == quality.gap ? quality.gap : std::numeric_limits<double>::infinity();
  return {gap / scale / scale, quality.objective / scale / scale,
          quality.gap == 0 || is_within(quality, tol)};
}

/// What the samples of an image are counted from: of those far from 0, for how far they are apart,
/// the first one. That loses nothing, and then nothing is lost between the passes.
template <class T>
[[nodiscard]] constexpr T origin_of(T low, T high, T first) noexcept {
  const bool is_far = (low > 0 && high / 2 <= low) || (high < 0 && low / 2 >= high);
  return is_far ? first : T(0);
}

/// A power of 2 that differences and lams are taken times, such that their squares are numbers
/// whatever the image is like. Of T = float they are in any case.
template <class T>
[[nodiscard]] TAUTSTRING_HOST_DEVICE double gap_scale(double largest) noexcept {
  if (std::is_same_v<T, float> || !(largest > 0)) return 1;
  return std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
}

template <class T>
[[nodiscard]] constexpr double scaled_difference(T from, T to, double scale) noexcept {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<double>(to) - static_cast<double>(from);
  return scale * to - scale * from;
}

template <class T>
[[nodiscard]] constexpr double scaled_lam(double lam, double scale) noexcept {
  return std::is_same_v<T, float> ? lam : lam * scale;
}

/// The dual variable of an edge as it is counted; `largest` is |x|, scaled as all else.
template <class T>
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double counted_dual(double dual, double lam,
                                                                double rise,
                                                                double largest) noexcept {
  constexpr double kRounding = std::is_same_v<T, float> ? 2e-5 : 1e-13;
  const double within = std::min(std::max(dual, -lam), lam);
  const double bound = std::copysign(lam, rise);
  const double off = std::abs(bound - within);
  // To move a dual by more than a quarter of the rise would cost more than it saves.
  const double reach = std::min(std::abs(rise) / 4, kRounding * std::max(lam, largest));
  return off <= reach ? bound : within;
}

/// What an edge has of the gap, and of the objective: nothing where there is no rise, whatever its
/// lam is.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double edge_gap(double counted, double lam,
                                                            double rise) noexcept {
  return rise == 0 ? 0 : std::abs(std::copysign(lam, rise) - counted) * std::abs(rise);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double edge_objective(double lam,
                                                                  double rise) noexcept {
  return rise == 0 ? 0 : lam * std::abs(rise);
}

/// What the duals that are counted around a pixel lack of its change from Y to X, the square of
/// which is twice what the pixel has of the gap.
[[nodiscard]] constexpr double pixel_residual(double left, double right, double above, double below,
                                              double change) noexcept {
  return (left - right) + (above - below) - change;
}

/// Of an image that iterations have not made, their dual variables tell the gap: so many of them,
/// where the caller has none.
inline constexpr int kGapIterations = 128;

/// More iterations can lower that gap by no more than the one that their own result has: they stop
/// where this is at most a hundredth of it, or nothing but the objective's rounding.
[[nodiscard]] constexpr bool is_little_to_gain(const Quality& own, double gap) noexcept {
  return own.gap <= std::max(0.01 * gap, 1e-14 * own.objective);
}

}  // namespace tautstring::detail
