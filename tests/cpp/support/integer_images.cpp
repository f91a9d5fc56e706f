#include "support/integer_images.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tautstring::testing {

using reference::IntegerProblem2d;

IntegerImage random_image(Random& random, std::int64_t longest, std::int64_t offset) {
  const auto integer = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  IntegerImage image;
  IntegerProblem2d& p = image.problem;
  p.height = integer(1, longest);
  p.width = integer(1, longest);
  const auto kind = integer(0, 2);
  const std::int64_t size = kind == 1 ? 3 : 255;
  const std::int64_t lam = integer(1, size);
  const bool one_lam = integer(0, 1) == 0;
  for (std::int64_t i = 0; i < p.height * p.width; ++i) {
    p.x.push_back(offset + (kind < 2
                                ? integer(0, size)
                                : 3 * (i / p.width) + 2 * (i % p.width) + integer(0, 8) / 8 * 40));
  }
  const auto make_lams = [&](std::int64_t count) {
    std::vector<std::int64_t> lams;
    for (std::int64_t i = 0; i < count; ++i) lams.push_back(one_lam ? lam : integer(0, lam));
    return lams;
  };
  p.lam_rows = make_lams(p.height * (p.width - 1));
  p.lam_cols = make_lams((p.height - 1) * p.width);
  image.optimum = reference::prox_tv2d(p).y;
  image.largest = static_cast<double>(*std::max_element(p.x.begin(), p.x.end()));
  return image;
}

std::vector<double> as_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

long double objective(const IntegerProblem2d& p, const std::vector<double>& y) {
  long double sum = 0;
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return static_cast<long double>(y[static_cast<std::size_t>(r * p.width + c)]);
  };
  for (std::int64_t r = 0; r < p.height; ++r) {
    for (std::int64_t c = 0; c < p.width; ++c) {
      const auto i = static_cast<std::size_t>(r * p.width + c);
      const long double change = at(r, c) - static_cast<long double>(p.x[i]);
      sum += change * change / 2;
      if (c + 1 < p.width) {
        sum +=
            static_cast<long double>(p.lam_rows[static_cast<std::size_t>(r * (p.width - 1) + c)]) *
            std::abs(at(r, c + 1) - at(r, c));
      }
      if (r + 1 < p.height) {
        sum += static_cast<long double>(p.lam_cols[i]) * std::abs(at(r + 1, c) - at(r, c));
      }
    }
  }
  return sum;
}

}  // namespace tautstring::testing
