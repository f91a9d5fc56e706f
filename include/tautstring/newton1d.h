// The 1D operator of tautstring/tv1d.h by the paper's own solver: projected Newton on the dual
// problem
//
//   u = argmin_u  1/2 sum_i y_i^2   with  y_i = x_i - u_i + u_{i-1}  and  |u_i| <= lam_i.
//
// An iteration fixes the dual variables that are at a bound and would leave the feasible interval,
// solves the tridiagonal system of all others exactly, and steps along that direction, clipped at
// the bounds, as far as the objective decreases enough. Rows of more than 32 samples start from the
// result of a few iterations on a row of half the length, the means of pairs of samples; that row
// starts in the same way, and so on. Smooth rows then take a handful of iterations too. From 0,
// their edges would come free one after the other.
//
// The direct solver of tautstring/tv1d.h returns the same result faster. Use this one for the
// paper's method, for its dual variables, or to start near a solution.
#pragma once

#include <cstdint>
#include <span>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/view.h"

namespace tautstring {

/// How to find a step that decreases the objective enough (Armijo's rule) where the full step does
/// not. interpolation: repeatedly take the minimum of a parabola through the known values. halving:
/// take the first sufficient step of 1/2, 1/4, 1/8, ..., several of which are evaluated together.
enum class LineSearch : std::uint8_t { interpolation, halving };

struct Newton1d {
  int iterations = 100;  // maximum for each row, not counting those on the shorter rows
  /// A row has converged once its duality gap, before the result is rounded to its dtype, is at
  /// most tol times its objective, or is rounding error only. As every iteration solves exactly for
  /// the bounds that it has fixed, the last one mostly reaches rounding error at once. Values
  /// within 1e-12 of the range need that, because gaps are squares.
  double tol = 0;
  LineSearch line_search = LineSearch::interpolation;
  /// Whether rows that have not converged after the last iteration are solved directly.
  bool polish = true;
  /// NewtonResults1d::dual of an earlier call on similar rows. Iterations start there, except for
  /// rows where it is not finite.
  ConstView start = {};
};

/// The results of a call; all but `y` are optional. On CUDA all of them are in device memory.
struct NewtonResults1d {
  View y;  // of x's shape and dtype; may be x itself (same data and strides)
  std::span<std::uint32_t> partition = {};  // as prox_tv1d writes it
  /// Of x's shape except for n - 1 along dim: u_i = sum of x - y up to i, where y is the smooth
  /// result in any mode.
  View dual = {};  // may be `start` itself
  /// One element per row. `gap` is an upper bound on how far the objective at y is from the
  /// optimum. It is evaluated at y as returned, rounded to its dtype; in mode sharp, at the smooth
  /// row that y stands for, x - (y - x). It is infinite where y has overflowed its dtype.
  /// `converged` is 1 where the iterations ended by themselves and, with a tolerance, this gap is
  /// within it (a 16-bit y may be too coarse for that). It is 0 for rows that are solved directly,
  /// or left unfinished (`polish`), and for rows without iterations: empty, copied (lam 0), NaN, or
  /// with an edge of lam 0. Those have 0 iterations.
  std::span<double> gap = {};
  std::span<std::int32_t> iterations = {};
  std::span<std::uint8_t> converged = {};
};

/// Size in bytes of the scratch memory of prox_tv1d_newton for a batch of x's shape in this
/// context.
TAUTSTRING_API Status prox_tv1d_newton_workspace(const ConstView& x, int dim,
                                                 const Context& context,
                                                 std::size_t& bytes) noexcept;

/// Solves all rows, as prox_tv1d does, with the same rules for lam, for bad values and for
/// non-finite ones. There are no data weights. Arithmetic is in float64, whatever the dtype.
///
/// \code
/// std::vector<float> x = {0, 1, 0, 9, 8, 9};
/// std::vector<float> y(6);
/// std::vector<double> dual(5), gap(1);
/// const tautstring::Problem1d problem = {.x = tautstring::view(x.data(), {1, 6}), .lam = 1.0};
/// const tautstring::Status status = tautstring::prox_tv1d_newton(
///     problem, {},
///     {.y = tautstring::view(y.data(), {1, 6}), .dual = tautstring::view(dual.data(), {1, 5}),
///      .gap = gap});
/// assert(status.ok());
/// assert(y[0] == y[2] && y[2] < y[3] && y[3] == y[5] && gap[0] < 1e-12);
/// assert(dual[2] == -1);  // lam, where y jumps up
/// \endcode
TAUTSTRING_API Status prox_tv1d_newton(const Problem1d& problem, const Newton1d& newton,
                                       const NewtonResults1d& results,
                                       const Context& context = {}) noexcept;

}  // namespace tautstring
