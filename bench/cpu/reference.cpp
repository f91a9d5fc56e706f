#include "reference.h"

#include <tautline/tautline.h>

#include <algorithm>
#include <cmath>

#include "problem.h"

namespace bench {

std::vector<double> certified_solution(const ForwardCase& c, std::span<const double> x,
                                       std::string& why) {
  constexpr double kOptimal = 1e-9;  // violation, relative to the range of x or to lam
  const Penalty<double> penalty(c);
  const auto problem = problem_of(c, x.data(), penalty);
  std::vector<double> y(x.size());
  std::vector<double> violations(static_cast<std::size_t>(c.data.rows));
  auto one_a_row = c.shape();
  one_a_row[c.columns ? 1 : one_a_row.size() - 1] = 1;
  if (!tautline::prox_tv1d(problem, view_of(y.data(), c.shape())).ok() ||
      !tautline::certificate1d(problem, view_of(y.data(), c.shape()),
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
