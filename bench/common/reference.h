// The correct result, proved by its certificate. Every result is checked against it before its time
// counts.
#pragma once

#include <tautstring/tautstring.h>

#include <span>
#include <string>
#include <vector>

namespace bench {

/// The largest allowed difference from the correct result, as a fraction of the data's range.
inline constexpr double kTolerance = 1e-6;

/// Returns the solution of a problem in float64, contiguous. On failure returns nothing and puts
/// the reason into `why`: the solver failed, or its result is not optimal.
[[nodiscard]] std::vector<double> certified_solution(const tautstring::Problem1d& problem,
                                                     std::string& why);

[[nodiscard]] double range_of(std::span<const double> values);

/// NaN if one of the values is NaN.
[[nodiscard]] double largest_difference(std::span<const double> a, std::span<const double> b);

}  // namespace bench
