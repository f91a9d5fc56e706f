// Proof of optimality: how far a given y is from solving the 1D problem.
#pragma once

#include "tautstring/export.h"
#include "tautstring/tv1d.h"

namespace tautstring {

/// Writes, for each row, the largest violation of the optimality conditions, relative to max(range
/// of x, largest finite lam): 0 where nothing is violated, infinite where something is and both of
/// those are 0, NaN where x or y is not finite. With u_i = sum_{j <= i} weight_j (x_j - y_j), the
/// conditions are
///   |u_i| <= lam_i,   u_i = lam_i sign(y_i - y_{i+1}) where y jumps,   u_n = 0.
/// They hold for the solution only, so a small number proves that y is optimal, whatever method
/// computed it. Sums are carried in twice float64's precision. The rounding of y to its dtype
/// counts as part of the violation. `problem.mode` must be smooth. `out` has x's shape except for
/// size 1 along dim.
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9}, y(4), violation(1);
/// const tautstring::Problem1d problem = {.x = tautstring::view(x.data(), {4}), .lam = 1.0};
/// auto status = tautstring::prox_tv1d(problem, tautstring::view(y.data(), {4}));
/// assert(status.ok());
/// status = tautstring::certificate1d(problem, tautstring::view(y.data(), {4}),
///                                  tautstring::view(violation.data(), {1}));
/// assert(status.ok() && violation[0] < 1e-12);
/// \endcode
TAUTSTRING_API Status certificate1d(const Problem1d& problem, const ConstView& y, const View& out,
                                    const Context& context = {}) noexcept;

}  // namespace tautstring
