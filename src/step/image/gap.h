// The duality gap of a 2D result, edge by edge and pixel by pixel: the arithmetic that all devices
// share. For any Y, and dual variables u of the edges along rows and v of those along columns
// within their bounds:
//   gap = sum over edges (lam |rise| - dual * rise) + 1/2 |P + Q - (X - Y)|^2,
// where P and Q are the changes of the pixels by u and v. All terms are >= 0, and the gap is an
// upper bound on how far the objective at Y is from the optimum, whatever u and v are. So a dual
// variable that is at its bound except for rounding is set to the bound; the resulting error in P
// or Q is part of the gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "step/host_device.h"

namespace tautstring::detail {

/// The number of iterations between two checks of the gap.
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
  const double objective = quality.objective == quality.objective
                               ? quality.objective
                               : std::numeric_limits<double>::infinity();
  return {gap / scale / scale, objective / scale / scale,
          quality.gap == 0 || is_within(quality, tol)};
}

/// The offset to subtract from the samples of an image: the first one, if all are far from 0
/// compared with their range; else 0. Subtracting it is exact, and no digits are then lost between
/// the passes.
template <class T>
[[nodiscard]] constexpr T origin_of(T low, T high, T first) noexcept {
  const bool is_far = (low > 0 && high / 2 <= low) || (high < 0 && low / 2 >= high);
  return is_far ? first : T(0);
}

/// A power of 2 that differences and lams are multiplied by, so that their squares neither overflow
/// nor underflow, whatever the image. For T = float they never do.
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

/// The dual variable of an edge as used for the gap; `largest` is the maximum of |x|, scaled like
/// everything else.
template <class T>
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double counted_dual(double dual, double lam,
                                                                double rise,
                                                                double largest) noexcept {
  constexpr double kRounding = std::is_same_v<T, float> ? 2e-5 : 1e-13;
  const double within = std::min(std::max(dual, -lam), lam);
  const double bound = std::copysign(lam, rise);
  const double off = std::abs(bound - within);
  // Moving a dual variable by more than a quarter of the rise would cost more than it saves.
  const double reach = std::min(std::abs(rise) / 4, kRounding * std::max(lam, largest));
  return off <= reach ? bound : within;
}

/// The contribution of an edge to the gap, and to the objective: 0 where there is no rise, whatever
/// its lam.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double edge_gap(double counted, double lam,
                                                            double rise) noexcept {
  return rise == 0 ? 0 : std::abs(std::copysign(lam, rise) - counted) * std::abs(rise);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double edge_objective(double lam,
                                                                  double rise) noexcept {
  return rise == 0 ? 0 : lam * std::abs(rise);
}

/// The difference between the dual variables around a pixel and its change from Y to X. Its square
/// is twice the contribution of the pixel to the gap.
[[nodiscard]] constexpr double pixel_residual(double left, double right, double above, double below,
                                              double change) noexcept {
  return (left - right) + (above - below) - change;
}

/// The gap of an arbitrary image uses the dual variables of iterations: this many of them, if the
/// caller has no dual variables.
inline constexpr int kGapIterations = 128;

/// More iterations can lower that gap by at most the gap of their own result. They stop where the
/// latter is at most a hundredth of the former, or within the rounding error of the objective.
[[nodiscard]] constexpr bool is_little_to_gain(const Quality& own, double gap) noexcept {
  return own.gap <= std::max(0.01 * gap, 1e-14 * own.objective);
}

}  // namespace tautstring::detail
