// A sample that is not finite affects only its own row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

class NonFinite : public ::testing::TestWithParam<double> {};

TEST_P(NonFinite, SampleMakesItsRowNanAndNoOther) {
  constexpr std::int64_t rows = 9;
  constexpr std::int64_t n = 33;
  Random random(base_seed());
  std::vector<double> x = families()[0].make(random, rows * n);
  std::vector<double> expected(x.size()), y(x.size());
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {rows, n}), .lam = 0.7}, view(expected.data(), {rows, n}))
          .ok());
  for (const std::int64_t place : {std::int64_t{0}, n / 2, n - 1}) {
    std::vector<double> bad = x;
    bad[static_cast<std::size_t>(4 * n + place)] = GetParam();
    std::vector<std::uint32_t> partition(rows * partition_words(n));
    ASSERT_TRUE(prox_tv1d({.x = view(bad.data(), {rows, n}), .lam = 0.7}, view(y.data(), {rows, n}),
                          partition)
                    .ok());
    for (std::int64_t i = 0; i < rows * n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (i / n == 4) {
        ASSERT_TRUE(std::isnan(y[k]));
      } else {
        ASSERT_EQ(y[k], expected[k]);
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(code_at(partition.data() + 4 * partition_words(n), i),
                i == 0 ? Code::plain : Code::continues);
    }
  }
}

TEST_P(NonFinite, SampleMakesTheReductionsNan) {
  const std::vector<double> x = {1, GetParam(), 2};
  double result = 0;
  ASSERT_TRUE(lam_max(view(x.data(), {3}), view(&result, {1})).ok());
  EXPECT_TRUE(std::isnan(result));
  ASSERT_TRUE(
      certificate1d({.x = view(x.data(), {3}), .lam = 1.0}, view(x.data(), {3}), view(&result, {1}))
          .ok());
  EXPECT_TRUE(std::isnan(result));
}

TEST_P(NonFinite, SingleSampleIsNan) {
  EXPECT_TRUE(std::isnan(Solution(Row{"", {GetParam()}, {1}, {}}).y[0]));
  EXPECT_TRUE(std::isnan(Solution(Row{"", {GetParam()}, {}, {}}).y[0]));
}

INSTANTIATE_TEST_SUITE_P(Values, NonFinite,
                         ::testing::Values(std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::infinity(),
                                           -std::numeric_limits<double>::infinity()));

}  // namespace
}  // namespace tautstring::testing
