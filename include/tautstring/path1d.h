// The solutions of prox_tv1d for all lambdas at once. With one lambda per row, the segments of a
// solution only merge as lambda grows. So a number per edge says all: the lambda at which the jump
// across the edge closes.
#pragma once

#include <cstddef>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring {

/// Writes, for each edge of each row, the largest lambda at which the solution still jumps there: 0
/// where it never does. The solution at any lambda > 0 has its borders at the edges whose number is
/// above that lambda, and the mean of its samples is moved by lambda times the difference of its
/// jumps' signs. Sorted, the numbers rank the change points of a row.
///
/// `lams` has x's shape except for size n - 1 along dim, and any dtype. `weight` is as in
/// Problem1d; the edges of a run of missing samples are 0 except for the last one. A row with a
/// non-finite sample, or with every sample missing, becomes NaN. The arithmetic is in float64, with
/// sums in twice its precision. A row of n samples takes at most n log n steps. On the CPU only.
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9}, lams(3);
/// const tautstring::Status status =
///     tautstring::path1d(tautstring::view(x.data(), {4}), tautstring::view(lams.data(), {3}));
/// assert(status.ok());
/// assert(lams[0] == 1 && lams[2] == 1);  // at lambda 1 the solution is {2, 2, 8, 8}
/// assert(lams[1] == 7);                  // from 7 on it is constant
/// \endcode
TAUTSTRING_API Status path1d(const ConstView& x, const View& lams, const ConstView& weight = {},
                             int dim = -1, const Context& context = {}) noexcept;

/// Size in bytes of the scratch memory of path1d for a batch of x's shape, in this context.
TAUTSTRING_API Status path1d_workspace(const ConstView& x, bool weighted, int dim,
                                       const Context& context, std::size_t& bytes) noexcept;

}  // namespace tautstring
