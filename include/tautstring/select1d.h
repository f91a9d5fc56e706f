// The choice of lambda from the data: the best lambda of each row by a criterion, over all lambdas.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring {

/// What a lambda is chosen for. With sigma the standard deviation of the noise of a sample of
/// weight 1, n the number of present samples, and loss = sum_i weight_i (y_i - x_i)^2:
enum class Criterion : std::uint8_t {
  sure,  // the smallest loss + 2 sigma^2 segments: Stein's unbiased estimate of the error of y
  bic,   // the smallest loss + sigma^2 log(n) segments: fewer segments
  discrepancy,  // the largest lambda for which loss <= n sigma^2
  segments,     // the smallest lambda with at most so many segments
};

struct Selection1d {
  ConstView x;
  Criterion criterion = Criterion::sure;
  /// Broadcasts to x, with size 1 along dim. Not given: estimate_sigma1d for each row.
  ConstView sigma = {};
  std::int64_t segments = 1;  // for Criterion::segments
  ConstView weight = {};      // as in Problem1d
  int dim = -1;
};

/// Writes, for each row, the lambda that the criterion selects: the exact optimum over all lambdas,
/// since segments only merge as lambda grows (see path1d) and the loss between two mergers is a
/// known parabola. `lam` has x's shape except for size 1 along dim, and any dtype. NaN for a row
/// with a non-finite sample, without samples, or whose sigma is not known. On the CPU only.
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9};
/// double lam = 0;
/// const tautstring::Status status = tautstring::select_lam1d(
///     {.x = tautstring::view(x.data(), {4}),
///      .criterion = tautstring::Criterion::segments,
///      .segments = 2},
///     tautstring::view(&lam, {1}));
/// assert(status.ok() && lam == 1);
/// \endcode
TAUTSTRING_API Status select_lam1d(const Selection1d& selection, const View& lam,
                                   const Context& context = {}) noexcept;

/// Writes, for each row, an estimate of the standard deviation of its noise: the median size of
/// second differences, over what it is for normal noise. Plateaus and ramps do not count, and jumps
/// hardly, since they are few. `sigma` is as `lam` above. NaN for a row with a non-finite sample,
/// or without three present samples one after the other.
TAUTSTRING_API Status estimate_sigma1d(const ConstView& x, const View& sigma,
                                       const ConstView& weight = {}, int dim = -1,
                                       const Context& context = {}) noexcept;

/// Size in bytes of the scratch memory of both for a batch of x's shape, in this context.
TAUTSTRING_API Status select_lam1d_workspace(const ConstView& x, bool weighted, int dim,
                                             const Context& context, std::size_t& bytes) noexcept;

}  // namespace tautstring
