// Newton on rows that it is not meant for, or that are easy to get wrong. The rules are those of
// prox_tv1d.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "reference/tv1d_reference.h"
#include "support/newton.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> noise(int n, double offset = 0) {
  Random random(base_seed());
  std::vector<double> x = families()[0].make(random, n);
  for (double& value : x) value += offset;
  return x;
}

double mean_of(const std::vector<double>& x) {
  const long double sum = std::accumulate(x.begin(), x.end(), 0.0L);
  return static_cast<double>(sum / static_cast<long double>(x.size()));
}

TEST(NewtonSpecialValues, LamZeroCopiesBitForBit) {
  const std::vector<double> x = {-0.0, kInfinity, -std::nan("7"), 3, 3, 1};
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    const NewtonCall call(x, 1, 0.0, {}, {}, mode);
    EXPECT_EQ(std::memcmp(call.y.data(), x.data(), x.size() * sizeof(double)), 0);
    EXPECT_EQ(call.dual, std::vector<double>(5, 0.0));
    EXPECT_EQ(call.gap[0], 0);
    EXPECT_EQ(call.iterations[0], 0);
    EXPECT_EQ(call.converged[0], 0);
  }
  const std::vector<double> good = {2, 3, 3, 1};
  EXPECT_EQ(NewtonCall(good, 1, 0.0).codes(),
            (std::vector<Code>{Code::plain, Code::up, Code::plain, Code::down}));
}

TEST(NewtonSpecialValues, AnEdgeOfLamZeroPartsItsSides) {
  for (int trial = 0; trial < 500; ++trial) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(trial), 60,
                               LamKind::edges_with_zero_and_infinity, WeightKind::none);
    for (const bool polish : {false, true}) {
      const NewtonCall call(row, {.polish = polish});
      EXPECT_LE(certificate_of(row, call.y), certificate_tolerance(DType::float64, row))
          << row.name;
      EXPECT_EQ(call.codes(), Solution(row).codes()) << row.name;
      // Values far from 0 are rounded, which is part of what is returned.
      const double unit = unit_in_last_place(DType::float64, row.x[0]);
      EXPECT_LE(call.gap[0], 1e-20 * std::pow(range_of(row.x), 2) +
                                 static_cast<double>(row.x.size()) * unit * unit)
          << row.name;
      for (std::size_t e = 0; e < row.lam.size(); ++e) {
        ASSERT_LE(std::abs(call.dual[e]), row.lam[e]);
        if (row.lam[e] > 0) continue;
        ASSERT_NE(call.codes()[e + 1], Code::continues);
      }
    }
  }
}

TEST(NewtonSpecialValues, LamThatNeverBindsGivesTheMeanAtOnce) {
  for (const int n : {2, 3, 50, 1000}) {
    for (const double offset : {0.0, 1e6}) {
      const std::vector<double> x = noise(n, offset);
      for (const double lam : {kInfinity, 1e300, 1e30, 1e10, n * 10.0}) {
        const NewtonCall call(x, 1, lam, {.polish = false});
        EXPECT_TRUE(call.converged[0]);
        EXPECT_EQ(call.iterations[0], 1);
        for (const double value : call.y) {
          ASSERT_NEAR(value, mean_of(x), value_tolerance(DType::float64, {"", x, {}, {}})) << lam;
        }
        EXPECT_EQ(call.y, std::vector<double>(x.size(), call.y[0]));
        // Far from 0 the mean is rounded, which is part of what is returned.
        EXPECT_LE(call.gap[0],
                  n * (1e-24 + std::pow(unit_in_last_place(DType::float64, offset), 2)));
      }
    }
  }
}

TEST(NewtonSpecialValues, SomeEdgesMayBeInfinite) {
  Row row{"", noise(200), std::vector<double>(199, 0.3), {}};
  for (std::size_t e = 0; e < row.lam.size(); e += 3) row.lam[e] = kInfinity;
  const NewtonCall call(row, {.polish = false});
  EXPECT_TRUE(call.converged[0]);
  EXPECT_LE(certificate_of(row, call.y), certificate_tolerance(DType::float64, row));
  for (std::size_t e = 0; e < row.lam.size(); e += 3) ASSERT_EQ(call.y[e], call.y[e + 1]);
}

class NewtonNonFinite : public ::testing::TestWithParam<double> {};

TEST_P(NewtonNonFinite, SampleMakesItsRowNanAndNoOther) {
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kLength = 40;
  const std::vector<double> x = noise(kRows * kLength);
  const NewtonCall expected(x, kRows, 0.7);
  for (const std::int64_t place : {std::int64_t{0}, kLength / 2, kLength - 1}) {
    std::vector<double> bad = x;
    bad[static_cast<std::size_t>(4 * kLength + place)] = GetParam();
    const NewtonCall call(bad, kRows, 0.7);
    for (std::size_t r = 0; r < kRows; ++r) {
      if (r == 4) continue;
      EXPECT_EQ(call.gap[r], expected.gap[r]);
      EXPECT_EQ(call.iterations[r], expected.iterations[r]);
    }
    EXPECT_TRUE(std::isnan(call.gap[4]));
    EXPECT_EQ(call.iterations[4], 0);
    EXPECT_EQ(call.converged[4], 0);
    const std::vector<Code> codes = call.codes();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i / kLength == 4) {
        ASSERT_TRUE(std::isnan(call.y[i]));
        ASSERT_EQ(codes[i], i % kLength == 0 ? Code::plain : Code::continues);
      } else {
        ASSERT_EQ(call.y[i], expected.y[i]);
      }
    }
    for (std::size_t e = 0; e < call.dual.size(); ++e) {
      if (e / (kLength - 1) == 4) {
        ASSERT_TRUE(std::isnan(call.dual[e]));
      } else {
        ASSERT_EQ(call.dual[e], expected.dual[e]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, NewtonNonFinite, ::testing::Values(kNan, kInfinity, -kInfinity));

TEST(NewtonSpecialValues, RowsAtTheEndsOfTheRangeAreSolved) {
  const std::vector<double> x = noise(100);
  const NewtonCall expected(x, 1, 0.7);
  for (const int exponent : {1020, 600, -600, -1000}) {
    const double scale = std::ldexp(1.0, exponent);
    Row row{"", x, {0.7 * scale}, {}};
    for (double& value : row.x) value *= scale;
    const NewtonCall call(row, {.polish = false});
    EXPECT_TRUE(call.converged[0]);
    EXPECT_EQ(call.partition, expected.partition) << exponent;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(call.y[i] / scale, expected.y[i], 1e-13) << exponent;
    }
    for (std::size_t e = 0; e < call.dual.size(); ++e) {
      ASSERT_NEAR(call.dual[e] / scale, expected.dual[e], 1e-12) << exponent;
    }
  }
  const double most = std::numeric_limits<double>::max();
  const NewtonCall wide({most, -most, most, -most}, 1, most / 4);
  EXPECT_EQ(wide.y[0], most / 4 * 3);
  EXPECT_EQ(wide.y[1], -most / 2);
}

/// Down to where products of lam are 0, so that no step is made.
TEST(NewtonSpecialValues, LamFarBelowTheRoundingOfXIsNoTrouble) {
  const std::vector<double> x = noise(64);
  for (const double lam : {1e-20, 1e-100, 1e-300, 5e-324}) {
    const NewtonCall call(x, 1, lam, {.polish = lam < 1e-300});
    EXPECT_EQ(call.y, x) << lam;
    EXPECT_EQ(call.partition, NewtonCall(x, 1, 1e-10).partition) << lam;
    EXPECT_TRUE(call.converged[0] || lam < 1e-300) << lam;
  }
}

TEST(NewtonSpecialValues, ConstantRowsStayWhatTheyAre) {
  for (const double level : {0.0, -0.0, 1.0 / 3, 1e300, -1e-310}) {
    for (const int n : {1, 2, 40}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        const std::vector<double> x(static_cast<std::size_t>(n), level);
        const NewtonCall call(x, 1, 0.5, {.polish = false}, {}, mode);
        EXPECT_EQ(call.y, x);
        EXPECT_EQ(call.gap[0], 0);
        EXPECT_TRUE(call.converged[0]);
      }
    }
  }
}

TEST(NewtonSpecialValues, ShortRows) {
  const NewtonCall one({5}, 1, 3.0);
  EXPECT_EQ(one.y[0], 5);
  EXPECT_EQ(one.codes()[0], Code::plain);
  EXPECT_EQ(one.gap[0], 0);
  const NewtonCall two({0, 10}, 1, 3.0);
  EXPECT_EQ(two.y, (std::vector<double>{3, 7}));
  EXPECT_EQ(two.dual[0], -3);
  EXPECT_EQ(two.codes()[1], Code::up);
  const NewtonCall flat({0, 10}, 1, 5.0);
  EXPECT_EQ(flat.y, (std::vector<double>{5, 5}));
  EXPECT_EQ(flat.codes()[1], Code::continues);  // a tie is not a jump
}

TEST(NewtonSpecialValues, EmptyRowsAndBatchesAreSolved) {
  const double nothing = 0;
  std::vector<double> gap(3, -7);
  std::vector<std::int32_t> iterations(3, -7);
  std::vector<std::uint8_t> converged(3, 7);
  double y = -7;
  const Status rows = prox_tv1d_newton(
      {.x = view(&nothing, {3, 0}), .lam = 1.0}, {},
      {.y = view(&y, {3, 0}), .gap = gap, .iterations = iterations, .converged = converged});
  EXPECT_TRUE(rows.ok()) << message(rows);
  EXPECT_EQ(gap, std::vector<double>(3, 0));
  EXPECT_EQ(iterations, std::vector<std::int32_t>(3, 0));
  EXPECT_EQ(converged, std::vector<std::uint8_t>(3, 0));
  const Status batch =
      prox_tv1d_newton({.x = view(&nothing, {0, 5}), .lam = 1.0}, {}, {.y = view(&y, {0, 5})});
  EXPECT_TRUE(batch.ok()) << message(batch);
  EXPECT_EQ(y, -7);
}

/// Without polish a row keeps the values of its last iteration, and the gap shows that.
TEST(NewtonPolish, SolvesRowsThatAreLeft) {
  const std::vector<double> x = noise(5 * 400);
  const NewtonCall solved(x, 5, 2.0);
  const NewtonCall left(x, 5, 2.0, {.iterations = 2, .polish = false});
  const NewtonCall polished(x, 5, 2.0, {.iterations = 2});
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(left.iterations[r], 2);
    EXPECT_EQ(polished.iterations[r], 2);
    EXPECT_FALSE(left.converged[r]);
    EXPECT_FALSE(polished.converged[r]);
    EXPECT_GT(left.gap[r], 1e-6);
    EXPECT_LT(polished.gap[r], 1e-20);
  }
  EXPECT_EQ(polished.partition, solved.partition);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(polished.y[i], solved.y[i], 1e-14);
  for (std::size_t e = 0; e < solved.dual.size(); ++e) {
    ASSERT_NEAR(polished.dual[e], solved.dual[e], 1e-12);
  }
}

TEST(NewtonSharpen, MirrorsSamplesAtTheSmoothResult) {
  const std::vector<double> x = noise(3 * 200);
  for (const Newton1d& newton : {Newton1d{}, Newton1d{.iterations = 1}}) {
    const NewtonCall smooth(x, 3, 1.0, newton);
    const NewtonCall sharp(x, 3, 1.0, newton, {}, Mode::sharp);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(sharp.y[i], x[i] + (x[i] - smooth.y[i]));
    }
    EXPECT_EQ(sharp.partition, smooth.partition);
    EXPECT_EQ(sharp.dual, smooth.dual);
    for (std::size_t r = 0; r < 3; ++r) {  // of the row that it is mirrored at, rounded once more
      EXPECT_NEAR(sharp.gap[r], smooth.gap[r], 1e-15 * 200);
    }
    EXPECT_EQ(sharp.iterations, smooth.iterations);
  }
}

}  // namespace
}  // namespace tautstring::testing
