// The 1D operator of tautstring/tv1d.h by the paper's own solver: projected Newton on the dual
// problem
//
//   u = argmin_u  1/2 sum_i y_i^2   with  y_i = x_i - u_i + u_{i-1}  and  |u_i| <= lam_i.
//
// An iteration takes the dual variables that stand at a bound, and would leave it, for fixed,
// solves the tridiagonal system of all others exactly, and goes along that direction as far as the
// objective falls enough, clipped at the bounds. Rows of more than 32 samples start from a few
// iterations on the same row in pairs, which starts likewise, and so on down: what is smooth takes
// a handful of iterations then, too, where from 0 one edge after the other would come free.
//
// The direct solver of tautstring/tv1d.h gives the same, sooner: this one is for who wants the
// paper's method, its dual variables, or to start near a solution.
#pragma once

#include <cstdint>
#include <span>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/view.h"

namespace tautstring {

/// How a step is found that decreases the objective enough (Armijo's rule), where the whole one
/// does not. interpolation: at the least of a parabola through what is known, again and again.
/// halving: the first of 1/2, 1/4, 1/8, ..., several of which are looked at together.
enum class LineSearch : std::uint8_t { interpolation, halving };

struct Newton1d {
  int iterations = 100;  // at most, of each row; not counting those on rows of pairs
  /// A row has converged once its duality gap is at most tol times its objective, or nothing but
  /// rounding, before the result is rounded to its dtype. As every iteration solves for its bounds
  /// exactly, the last one mostly comes down to that at once; values within 1e-12 of the range need
  /// it, as gaps are squares.
  double tol = 0;
  LineSearch line_search = LineSearch::interpolation;
  /// Whether rows that have not converged by then are solved directly.
  bool polish = true;
  /// What an earlier call on similar rows left in NewtonResults1d::dual: iterations start there,
  /// but for rows where it is not finite.
  ConstView start = {};
};

/// What a call leaves; all but `y` only where it is asked for. On CUDA all of it is in the device's
/// memory.
struct NewtonResults1d {
  View y;  // of x's shape and dtype; may be x itself (same data and strides)
  std::span<std::uint32_t> partition = {};  // as prox_tv1d leaves it
  /// Of x's shape but for n - 1 along dim: u_i = sum of x - y up to i, of the smooth y in any mode.
  View dual = {};  // may be the start itself
  /// Of each row. The gap is an upper bound on how far the objective at y is from the optimum, of y
  /// as it is returned: rounded to its dtype and, in mode sharp, of the smooth row that it stands
  /// for, x - (y - x). It is infinite where y has overflowed its dtype. Converged is 1 where the
  /// iterations came to their end by themselves and, with a tolerance, that gap is within it: a
  /// 16-bit y may not hold it. It is 0 for rows that are solved directly, or not at all (`polish`),
  /// and for those that are not iterated on: empty, copied (lam 0), NaN, or with an edge of lam 0.
  /// These have 0 iterations.
  std::span<double> gap = {};
  std::span<std::int32_t> iterations = {};
  std::span<std::uint8_t> converged = {};
};

/// Scratch bytes for prox_tv1d_newton on a batch of x's shape in this context.
TAUTSTRING_API Status prox_tv1d_newton_workspace(const ConstView& x, int dim,
                                                 const Context& context,
                                                 std::size_t& bytes) noexcept;

/// Solves all rows, as prox_tv1d does: the same rules for lam, for bad values and for what is not
/// finite hold. There are no data weights. Arithmetic is in float64, whatever the dtype.
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
