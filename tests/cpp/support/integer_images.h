// Images of integers with a known exact optimum.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/tv2d_reference.h"
#include "support/rows.h"

namespace tautstring::testing {

struct IntegerImage {
  reference::IntegerProblem2d problem;
  std::vector<double> optimum;
  double largest;
};

/// Noise, few values, spots on a slope; lams of all edges, or one for all.
IntegerImage random_image(Random& random, std::int64_t longest, std::int64_t offset = 0);

std::vector<double> as_doubles(const std::vector<std::int64_t>& values);

/// In long double, because an excess is the difference of two of these.
long double objective(const reference::IntegerProblem2d& p, const std::vector<double>& y);

}  // namespace tautstring::testing
