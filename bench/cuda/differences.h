// How much a GPU's result may differ from the correct one, and the exception if it differs more.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "reference.h"
#include "short_number.h"
#include "storage.h"

namespace bench {

/// Allowed fraction of the data's range, for each solve that the result goes through.
template <class T>
inline constexpr double kFraction = std::is_same_v<T, double> ? 1e-12 : kTolerance;
/// Allowed fraction of the sum of the absolute terms: the gradient of a lambda is a sum over the
/// row.
template <class T>
inline constexpr double kLamFraction = 10 * kFraction<T>;

[[noreturn]] inline void throw_wrong(const char* what, double error, double allowed) {
  throw std::runtime_error(std::string("WRONG: ") + what + " off by " + short_number(error) +
                           ", allowed " + short_number(allowed));
}

/// The largest difference of parts of n elements (rows, images) from the correct ones, as a
/// fraction of the range of `data` in that part. The errors of `solves` consecutive solves add up.
template <class T>
double compare(const char* what, std::span<const double> right, std::span<const double> given,
               std::span<const double> data, std::size_t n, int solves = 1) {
  double largest = 0;
  for (std::size_t start = 0; start < right.size(); start += n) {
    const auto right_part = right.subspan(start, n);
    const double range = range_of(data.subspan(start, n));
    const double error = largest_difference(right_part, given.subspan(start, n));
    const double allowed = solves * kFraction<T> * range + rounding_of<T>(right_part);
    if (!(error <= allowed)) throw_wrong(what, error, allowed);
    if (range > 0) largest = std::max(largest, error / range);
  }
  return largest;
}

/// The same for one number that is the sum of `terms`. If the terms are sums over solves, their
/// parts may cancel; their error is then that of values with this `range`.
template <class T>
void compare_sum(const char* what, double given, std::span<const double> terms, int solves = 1,
                 double range = 0) {
  const double right = std::accumulate(terms.begin(), terms.end(), 0.0);
  const double size = std::transform_reduce(terms.begin(), terms.end(), 0.0, std::plus<>(),
                                            [](double term) { return std::abs(term); });
  const double error = std::abs(given - right);
  const double allowed = solves * (kLamFraction<T> * size + kFraction<T> * range) +
                         rounding_of<T>(std::span(&right, 1));
  if (!(error <= allowed)) throw_wrong(what, error, allowed);
}

}  // namespace bench
