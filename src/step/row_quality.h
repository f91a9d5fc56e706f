// The quality of a row as returned: its objective, and the duality gap, an upper bound on how far
// that is from the optimum, from dual variables u within their bounds:
//
//   gap = sum over edges (lam |rise| + u * rise) + 1/2 sum over samples ((x - y) - (u - u
//   before))^2
//
// All terms are >= 0, whatever y and u are. Where y jumps, u is at its bound, so that the edges of
// an unrounded result add nothing to the gap.
#pragma once

#include <cstdint>
#include <limits>

namespace tautstring::detail {

struct RowQuality {
  double gap = 0;
  double objective = 0;

  /// Adds a sample, from x - y and the increase of u over it.
  constexpr void add_sample(double change, double pull) noexcept {
    const double lost = change - pull;
    gap += lost * lost / 2;
    objective += change * change / 2;
  }
  constexpr void add_edge(double rise, double u, double lam) noexcept {
    if (rise == 0) return;  // whatever its lam
    const double size = rise < 0 ? -rise : rise;
    gap += (rise < 0 ? lam - u : lam + u) * size;
    objective += lam * size;
  }

  [[nodiscard]] constexpr bool is_finite() const noexcept { return gap - gap == 0; }
  /// A result that is not finite has no bound.
  [[nodiscard]] constexpr double reported_gap() const noexcept {
    return is_finite() ? gap : std::numeric_limits<double>::infinity();
  }
  /// A tolerance of 0 requires nothing.
  [[nodiscard]] constexpr bool is_within(double tol) const noexcept {
    return tol == 0 || (is_finite() && gap <= tol * objective);
  }
};

/// The quality of a row of n samples x(i) with values y(i); u(e) and lam(e) are those of the edge
/// after sample e.
template <class Samples, class Values, class Duals, class Lams>
[[nodiscard]] constexpr RowQuality quality_of_row(std::int32_t n, const Samples& x, const Values& y,
                                                  const Duals& u, const Lams& lam) noexcept {
  RowQuality quality;
  double u_before = 0;
  double value = y(0);
  for (std::int32_t i = 0; i < n; ++i) {
    const double change = x(i) - value;
    double u_here = 0;
    if (i + 1 < n) {
      const double next = y(i + 1);
      u_here = u(i);
      quality.add_edge(next - value, u_here, lam(i));
      value = next;
    }
    quality.add_sample(change, u_here - u_before);
    u_before = u_here;
  }
  return quality;
}

}  // namespace tautstring::detail
