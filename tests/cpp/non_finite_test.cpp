// A sample that is not finite affects only its own row.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

class NonFinite : public ::testing::TestWithParam<double> {};

/// Solves nine rows of n samples, the fifth of which has a bad one.
void expect_one_nan_row(DType dtype, std::int64_t n, double bad) {
  constexpr std::int64_t rows = 9;
  Random random(base_seed());
  const std::vector<double> x = families()[0].make(random, static_cast<int>(rows * n));
  const auto solve = [&](const std::vector<double>& samples, std::span<std::uint32_t> partition) {
    Array from(dtype, samples), to(dtype, samples.size());
    EXPECT_TRUE(
        prox_tv1d({.x = from.view({rows, n}), .lam = 0.7}, to.view({rows, n}), partition).ok());
    return to.values();
  };
  const std::vector<double> expected = solve(x, {});
  for (const std::int64_t place : {std::int64_t{0}, std::int64_t{1}, n / 2, n - 1}) {
    std::vector<double> samples = x;
    samples[static_cast<std::size_t>(4 * n + place)] = bad;
    std::vector<std::uint32_t> partition(static_cast<std::size_t>(rows * partition_words(n)));
    const std::vector<double> y = solve(samples, partition);
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

TEST_P(NonFinite, SampleMakesItsRowNanAndNoOther) {
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    for (const std::int64_t n : {33, 300, 5000}) {
      SCOPED_TRACE(dtype_name(dtype) + ", " + std::to_string(n) + " samples");
      expect_one_nan_row(dtype, n, GetParam());
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
