// The certificate is a proof only if it grows when y is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

double certify(const std::vector<double>& x, const std::vector<double>& y, const Lam& lam) {
  const auto n = static_cast<std::int64_t>(x.size());
  double violation = -1;
  const Status status = certificate1d({.x = view(x.data(), {n}), .lam = lam}, view(y.data(), {n}),
                                      view(&violation, {1}));
  EXPECT_TRUE(status.ok());
  return violation;
}

TEST(Certificate, IsZeroForAnExactSolution) {
  EXPECT_EQ(certify({0, 4}, {1, 3}, 1.0), 0);
  EXPECT_EQ(certify({0, 4}, {2, 2}, 2.0), 0);
}

TEST(Certificate, MeasuresTheViolationRelativeToTheRange) {
  EXPECT_EQ(certify({0, 4}, {0, 4}, 1.0), 0.25);     // u = 0 where it must be -1
  EXPECT_EQ(certify({0, 4}, {1, 1}, 1.0), 2.0 / 4);  // u_n = 2
  EXPECT_EQ(certify({0, 4}, {2, 2}, 1.0), 0.25);     // no jump although |u| = 2 implies one
  EXPECT_EQ(certify({0, 4}, {3, 1}, 1.0), 4.0 / 4);  // a jump the wrong way: u = -3, must be 1
}

TEST(Certificate, IsRelativeToTheLargestFiniteLam) {
  EXPECT_EQ(certify({0, 4}, {0, 4}, 16.0), 1);
  EXPECT_EQ(certify({0, 4, 4}, {2, 2, 5}, view(std::vector<double>{8, 0.5}.data(), {2})),
            0.5 / 8 * 2);
}

TEST(Certificate, IsNotFooledByOverflow) {
  EXPECT_GT(certify({1.7e308, -1.7e308}, {0, 0}, 1.0), 0.1);
  const std::vector<double> x = {1e200, -1e200, 1e200}, y = {1, 2, 3}, weight(3, 1e150);
  double violation = 0;
  ASSERT_TRUE(
      certificate1d({.x = view(x.data(), {3}), .lam = 1.0, .weight = view(weight.data(), {3})},
                    view(y.data(), {3}), view(&violation, {1}))
          .ok());
  EXPECT_GT(violation, 1e100);
}

TEST(Certificate, OfARowWhoseRangeOverflowsIsThatOfTheSameRowScaledDown) {
  const double max = std::numeric_limits<double>::max();
  EXPECT_EQ(certify({max, -max}, {max / 2, -max / 2}, max / 2), 0);
  EXPECT_EQ(certify({max, -max}, {max, -max}, max), 0.5);
  EXPECT_EQ(certify({max, max, 0}, {-max, max, -max}, 1.0), certify({4, 4, 0}, {-4, 4, -4}, 0.0));
  Random random(base_seed());
  std::uniform_real_distribution<double> part(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    const std::size_t n = 1 + random() % 6;
    std::vector<double> x(n), y(n), small_x(n), small_y(n);
    for (std::size_t k = 0; k < n; ++k) {
      x[k] = random() % 2 == 0 ? max : max * part(random);
      if (random() % 2 == 0) x[k] = -x[k];
      y[k] = random() % 4 == 0 ? -max : max * part(random);
      small_x[k] = x[k] * 0x1p-500;
      small_y[k] = y[k] * 0x1p-500;
    }
    const double lam = max * std::abs(part(random));
    ASSERT_EQ(certify(x, y, lam), certify(small_x, small_y, lam * 0x1p-500)) << i;
  }
}

TEST(Certificate, OfExtremeWeightsIsRelativeToTheRange) {
  for (const double size : {1.0, 0x1p-900, 0x1p900}) {
    const std::vector<double> weight(2, size), large = {0, 0x1p180}, wrong = {0, 0.75 * 0x1p180};
    double violation = -1;
    ASSERT_TRUE(certificate1d(
                    {.x = view(large.data(), {2}), .lam = 0.0, .weight = view(weight.data(), {2})},
                    view(wrong.data(), {2}), view(&violation, {1}))
                    .ok());
    EXPECT_EQ(violation, 0.25 * size) << size;
  }
}

TEST(Certificate, OfAWrongConstantRowWithoutPenaltyIsInfinite) {
  EXPECT_EQ(certify({3, 3, 3}, {4, 4, 4}, 0.0), std::numeric_limits<double>::infinity());
}

TEST(Certificate, IsZeroForAConstantRowWithoutPenalty) {
  EXPECT_EQ(certify({3, 3, 3}, {3, 3, 3}, 0.0), 0);
}

TEST(Certificate, NoticesASmallErrorInOneValue) {
  for (int i = 0; i < 300; ++i) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 50, LamKind::uniform,
                               WeightKind::none);
    std::vector<double> y = Solution(row).y;
    const double range = range_of(row.x);
    if (range == 0) continue;
    const double error = 1e-6 * std::max(range, row.lam[0]);
    y[static_cast<std::size_t>(i) % y.size()] += error;
    ASSERT_GT(certify(row.x, y, row.lam[0]), 0.9e-6) << row.name;
  }
}

TEST(Certificate, OfAJumpOverAnInfiniteEdgeIsInfinite) {
  EXPECT_EQ(certify({0, 4}, {1, 3}, std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

TEST(Certificate, OfANonFiniteResultIsNan) {
  EXPECT_TRUE(std::isnan(certify({0, 4}, {0, std::nan("")}, 1.0)));
}

TEST(Certificate, IsDefinedForSmoothingOnly) {
  const std::vector<double> x = {0, 4};
  double violation = -1;
  const Status status = certificate1d({.x = view(x.data(), {2}), .lam = 1.0, .mode = Mode::sharp},
                                      view(x.data(), {2}), view(&violation, {1}));
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_STREQ(status.argument, "mode");
  EXPECT_EQ(violation, -1);
}

}  // namespace
}  // namespace tautstring::testing
