#include "reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "storage.h"

namespace bench {

std::vector<double> certified_solution(const tautstring::Problem1d& problem, std::string& why) {
  constexpr double kOptimal = 1e-9;  // violation, relative to the range of x or to lam
  const auto dims = static_cast<std::size_t>(problem.x.ndim);
  const std::vector<std::int64_t> shape(problem.x.shape, problem.x.shape + dims);
  std::vector<std::int64_t> one_a_row = shape;
  one_a_row[problem.dim < 0 ? dims - 1 : static_cast<std::size_t>(problem.dim)] = 1;
  const std::int64_t rows = tautstring::row_count(problem.x, problem.dim);
  const std::int64_t n = tautstring::row_length(problem.x, problem.dim);

  std::vector<double> y(static_cast<std::size_t>(rows * n));
  std::vector<double> violations(static_cast<std::size_t>(rows));
  if (!tautstring::prox_tv1d(problem, view_of(y.data(), shape)).ok() ||
      !tautstring::certificate1d(problem, view_of(y.data(), shape),
                                 view_of(violations.data(), one_a_row))
           .ok()) {
    why = "the float64 solver failed";
    return {};
  }
  const bool optimal =
      std::ranges::all_of(violations, [](double violation) { return violation <= kOptimal; });
  if (optimal) return y;
  why = "the float64 solution is not optimal";
  return {};
}

double range_of(std::span<const double> values) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return *high - *low;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

}  // namespace bench
