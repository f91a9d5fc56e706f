// The right answer, proved by its certificate: what every result is checked against before its
// time counts.
#pragma once

#include <tautstring/tautstring.h>

#include <span>
#include <string>
#include <vector>

namespace bench {

/// The largest difference from the right answer that is allowed, as a fraction of the data's range.
inline constexpr double kTolerance = 1e-6;

/// The solution of a problem in float64 without gaps in memory, or nothing and in `why` the reason:
/// the solver failed, or its result is not optimal.
[[nodiscard]] std::vector<double> certified_solution(const tautstring::Problem1d& problem,
                                                     std::string& why);

[[nodiscard]] double range_of(std::span<const double> values);

/// NaN where one of the values is.
[[nodiscard]] double largest_difference(std::span<const double> a, std::span<const double> b);

}  // namespace bench
