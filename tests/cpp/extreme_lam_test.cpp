// lam = 0, lam = infinity, lam above lam_max, and x near the limits of floating-point types.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "reference/tv1d_reference.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ZeroLam : public ::testing::TestWithParam<std::tuple<DType, Mode>> {};

TEST_P(ZeroLam, CopiesEveryBit) {
  const auto [dtype, mode] = GetParam();
  // All 2-byte patterns, and unusual 4- and 8-byte ones, including signalling NaNs, -0.0,
  // infinities and subnormals.
  const auto item = static_cast<std::size_t>(size_of(dtype));
  std::vector<std::byte> x(65536 * item);
  for (std::size_t i = 0; i < 65536; ++i) {
    const std::uint64_t pattern = item == 2 ? i : (i << (8 * item - 16)) | (i * 2654435761U >> 7);
    std::memcpy(x.data() + i * item, &pattern, item);
  }
  std::vector<std::byte> y(x.size());
  const auto status = prox_tv1d(
      {.x = view(static_cast<const void*>(x.data()), dtype, {256, 256}), .lam = 0.0, .mode = mode},
      view(static_cast<void*>(y.data()), dtype, {256, 256}));
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(x == y);
}

TEST_P(ZeroLam, OnEveryEdgeCopiesEveryBit) {
  const auto [dtype, mode] = GetParam();
  Row row{"zero edges", {-0.0, kNan, 1, kInfinity}, {0, 0, 0}, {}};
  const Solution solution(row, dtype, mode);
  EXPECT_EQ(solution.y_array.bytes(), solution.x_array.bytes());
}

INSTANTIATE_TEST_SUITE_P(All, ZeroLam,
                         ::testing::Combine(::testing::Values(DType::float16, DType::bfloat16,
                                                              DType::float32, DType::float64),
                                            ::testing::Values(Mode::smooth, Mode::sharp)));

TEST(ExtremeLam, ZeroMakesEveryElementASegmentWithItsSign) {
  const Solution solution(Row{"", {1, 3, 3, 2}, {0}, {}});
  EXPECT_EQ(solution.codes(), (std::vector<Code>{Code::plain, Code::up, Code::plain, Code::down}));
}

TEST(ExtremeLam, ZeroEdgeSplitsTheRow) {
  const Solution whole(Row{"", {0, 2, 1, 7, 5, 6}, {0.5, 0.5, 0, 0.5, 0.5}, {}});
  const Solution left(Row{"", {0, 2, 1}, {0.5}, {}});
  const Solution right(Row{"", {7, 5, 6}, {0.5}, {}});
  std::vector<double> joined = left.y;
  joined.insert(joined.end(), right.y.begin(), right.y.end());
  EXPECT_EQ(whole.y, joined);
}

TEST(ExtremeLam, ZeroEdgeBetweenEqualValuesIsAPlainBorder) {
  const Solution solution(Row{"", {1, 1, 1, 1}, {2, 0, 2}, {}});
  EXPECT_EQ(solution.codes(),
            (std::vector<Code>{Code::plain, Code::continues, Code::plain, Code::continues}));
}

TEST(ExtremeLam, InfinityGivesTheMean) {
  std::vector<Scale> sizes = scales();
  sizes.push_back({"2^199", 0x1p199, 0});  // the largest size that is not scaled
  for (const Scale& scale : sizes) {
    Random random(base_seed());
    Row row{"mean", families()[0].make(random, 1000), {kInfinity}, {}};
    for (double& value : row.x) value = value * scale.factor + scale.offset;
    const double mean = static_cast<double>(std::accumulate(row.x.begin(), row.x.end(), 0.0L) /
                                            static_cast<long double>(row.x.size()));
    for (const double value : Solution(row).y) {
      ASSERT_NEAR(value, mean, value_tolerance(DType::float64, row)) << scale.name;
    }
  }
}

TEST(ExtremeLam, InfiniteEdgesJoinTheirEnds) {
  const Solution solution(Row{"", {0, 4, 0, 4}, {kInfinity, 0.25, kInfinity}, {}});
  EXPECT_EQ(solution.y, (std::vector<double>{2, 2, 2, 2}));
}

TEST(ExtremeLam, HugeGivesTheSameBitsAsInfinity) {
  for (int i = 0; i < 300; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100, LamKind::uniform,
                         i % 2 == 0 ? WeightKind::none : WeightKind::positive);
    row.lam = {kInfinity};
    const Solution infinite(row);
    for (const double lam : {1e30, 1e300, std::numeric_limits<double>::max()}) {
      row.lam = {lam};
      const Solution huge(row);
      ASSERT_EQ(huge.y, infinite.y) << row.name;
      ASSERT_EQ(huge.partition, infinite.partition) << row.name;
    }
  }
}

TEST(ExtremeLam, HugeEdgesGiveTheSameBitsAsInfiniteOnes) {
  for (int i = 0; i < 500; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100,
                         LamKind::edges_with_zero_and_infinity,
                         i % 2 == 0 ? WeightKind::none : WeightKind::positive);
    const Solution infinite(row);
    for (double& lam : row.lam) {
      if (std::isinf(lam)) lam = std::numeric_limits<double>::max();
    }
    const Solution huge(row);
    ASSERT_EQ(huge.y, infinite.y) << row.name;
    ASSERT_EQ(huge.partition, infinite.partition) << row.name;
  }
}

TEST(ExtremeLam, ConstantRowsComeBackBitForBitInOneSegment) {
  for (const std::size_t n : {100, 3000, 20000}) {
    for (const double level : {0.0, 0.1, -7.0, 1e300, 5e-324}) {
      for (const double lam : {1e-300, 0.1, 1e9, kInfinity}) {
        const Row row{"", std::vector<double>(n, level), {lam}, {}};
        const Solution solution(row);
        ASSERT_EQ(solution.y, row.x) << n << " of " << level << ", lam " << lam;
        const auto words = static_cast<std::ptrdiff_t>(solution.partition.size());
        ASSERT_EQ(std::count(solution.partition.begin(), solution.partition.end(), 0U), words - 1);
      }
    }
  }
}

TEST(ExtremeLam, SizesAtTheEndsOfFloat64ScaleExactly) {
  for (const double size : {0x1p1000, 0x1p-1000, 0x1p-1060}) {
    for (int i = 0; i < 200; ++i) {
      Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 50, LamKind::uniform,
                           WeightKind::none);
      // Multiples of 1/4 are exact at 2^-1060 too.
      for (double& value : row.x) value = std::round(std::clamp(value, -9.0, 9.0) * 4) / 4;
      row.lam = {0.5};
      const Solution plain(row);
      for (double& value : row.x) value *= size;
      row.lam[0] *= size;
      const Solution scaled(row);
      ASSERT_EQ(scaled.partition, plain.partition) << row.name;
      for (std::size_t k = 0; k < row.x.size(); ++k) {
        ASSERT_NEAR(
            scaled.y[k] / size, plain.y[k],
            1e-12 * range_of(row.x) / size + 0x1p-1073 / size + 1e-15 * std::abs(plain.y[k]));
      }
    }
  }
}

TEST(ExtremeLam, LargestFiniteSamplesDoNotOverflow) {
  const double max = std::numeric_limits<double>::max();
  const Solution solution(Row{"", {max, -max, max, -max}, {max / 2}, {}});
  const std::vector<double> scaled =
      reference::prox_tv1d(std::vector<double>{1, -1, 1, -1}, std::vector<double>(3, 0.5));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(solution.y[i] / max, scaled[i], 1e-15);
}

/// A row that touches the largest number on both sides, with weights and lams of many sizes.
Row row_of_largest_numbers(Random& random) {
  constexpr double kMax = std::numeric_limits<double>::max();
  std::uniform_real_distribution<double> uniform;
  const std::size_t n = 2 + random() % 9;
  Row row{"", std::vector<double>(n), {}, std::vector<double>(n)};
  const double least = random() % 2 == 0 ? -6 : -26;
  for (std::size_t i = 0; i < n; ++i) {
    const double part = random() % 2 == 0 ? 1 : 1 - std::pow(2.0, -30 * uniform(random));
    row.x[i] = (random() % 2 == 0 ? kMax : -kMax) * part;
    row.weight[i] = std::pow(10.0, 9 + least * uniform(random));
  }
  const double force = *std::max_element(row.weight.begin(), row.weight.end());
  for (std::size_t e = 0; e + 1 < n; ++e) {
    row.lam.push_back(std::min(kMax * force * std::pow(10.0, -30 * uniform(random)), kMax));
  }
  if (random() % 2 == 0) row.lam.resize(1);
  return row;
}

constexpr double kDown = 0x1p-600;

Row scaled_down(Row row) {
  for (double& x : row.x) x *= kDown;
  for (double& lam : row.lam) lam *= kDown;
  return row;
}

TEST(ExtremeLam, AWeightedRowFromEndToEndOfFloat64IsFinite) {
  const double max = std::numeric_limits<double>::max();
  const Solution solution(Row{"",
                              {0.83639205208850609 * max, -max},
                              {2.4309471240556645e+307},
                              {1.4656016033076611e-10, 2603326.2390653337}});
  EXPECT_EQ(solution.y, (std::vector<double>{-max, -max}));
}

TEST(ExtremeLam, WeightedRowsOfTheLargestNumbersAreThoseOfTheSameRowsScaledDown) {
  Random random(base_seed());
  for (int i = 0; i < 20'000; ++i) {
    const Row row = row_of_largest_numbers(random);
    const Row small = scaled_down(row);
    const Solution solution(row);
    const Solution expected(small);
    ASSERT_EQ(solution.partition, expected.partition) << i;
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      ASSERT_TRUE(std::isfinite(solution.y[k])) << i << " at " << k;
      ASSERT_NEAR(solution.y[k] * kDown, expected.y[k],
                  unit_in_last_place(DType::float64, expected.y[k]))
          << i << " at " << k;
    }
    const auto [least, most] = std::minmax_element(row.weight.begin(), row.weight.end());
    if (*most > 1e6 * *least) continue;  // more than the reference has digits for
    const std::vector<double> exact = reference::prox_tv1d(small.x, edges_of(small), small.weight);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      ASSERT_NEAR(expected.y[k], exact[k], value_tolerance(DType::float64, small)) << i;
    }
  }
}

/// What is NaN or infinite without need would be so in one of the two alone.
void expect_scaled(const std::vector<double>& values, const std::vector<double>& small,
                   double scale) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (std::isinf(small[k] / scale)) continue;
    ASSERT_NEAR(values[k] * scale, small[k], 1e-14 * std::abs(small[k])) << "at " << k;
  }
}

TEST(ExtremeLam, DerivativesOfWeightedRowsOfTheLargestNumbersAreThoseOfTheSameRowsScaledDown) {
  struct Derivatives {
    explicit Derivatives(const Row& row)
        : x(row.x.size()), lam(row.lam.size()), weight(x.size()), along_weight(x.size()) {
      const Solution solution(row);
      const auto n = static_cast<std::int64_t>(x.size());
      std::vector<double> g;
      for (std::size_t k = 0; k < x.size(); ++k) g.push_back(k % 3 == 0 ? 1 : -0.75);
      const ConstView direction = view(std::as_const(g).data(), {n});
      EXPECT_TRUE(
          prox_tv1d_backward(solution.solved(), direction,
                             {.x = view(x.data(), {n}),
                              .lam = view(lam.data(), {static_cast<std::int64_t>(lam.size())}),
                              .weight = view(weight.data(), {n})})
              .ok());
      EXPECT_TRUE(
          prox_tv1d_jvp(solution.solved(), {.weight = direction}, view(along_weight.data(), {n}))
              .ok());
    }
    std::vector<double> x, lam, weight, along_weight;
  };
  Random random(base_seed());
  for (int i = 0; i < 5000; ++i) {
    const Row row = row_of_largest_numbers(random);
    const Derivatives derivatives(row);
    const Derivatives expected(scaled_down(row));
    ASSERT_EQ(derivatives.x, expected.x) << i;
    ASSERT_EQ(derivatives.lam, expected.lam) << i;
    SCOPED_TRACE(i);
    expect_scaled(derivatives.weight, expected.weight, kDown);
    expect_scaled(derivatives.along_weight, expected.along_weight, kDown);
    if (HasFailure()) return;
  }
}

TEST(ExtremeLam, ExtremeWeightsDoNotOverflow) {
  for (const double size : {1e300, 1e-300}) {
    const Row plain{"", {0, 5, 1, 4}, {1}, {1, 2, 3, 4}};
    Row scaled = plain;
    for (double& weight : scaled.weight) weight *= size;
    scaled.lam[0] *= size;
    const Solution expected(plain);
    const Solution solution(scaled);
    EXPECT_EQ(solution.partition, expected.partition);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(solution.y[i], expected.y[i], 1e-14);
  }
}

TEST(ExtremeLam, ExtremeWeightsAndSamplesTogetherDoNotOverflow) {
  for (const auto& [x_size, weight_size] :
       {std::pair{0x1p-500, 0x1p-500}, std::pair{0x1p500, 0x1p500}, std::pair{0x1p800, 0x1p-800}}) {
    const Row plain{"", {0, 5, 1, 4}, {1}, {1, 2, 3, 4}};
    Row scaled = plain;
    for (double& x : scaled.x) x *= x_size;
    for (double& weight : scaled.weight) weight *= weight_size;
    scaled.lam[0] *= x_size * weight_size;
    const Solution expected(plain);
    const Solution solution(scaled);
    EXPECT_EQ(solution.partition, expected.partition);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(solution.y[i] / x_size, expected.y[i], 1e-14);
  }
}

TEST(ExtremeLam, SmallWeightsBesideLargeOnesKeepTheirAccuracy) {
  // The middle sample has 1e-12 of its neighbours' weight and is a segment by itself.
  const Row row{"", {0, 5, 1}, {1e-12}, {1, 1e-12, 1}};
  const Solution solution(row);
  EXPECT_NEAR(solution.y[1], 3, 1e-12);
}

TEST(ExtremeLam, ABlockOfSmallWeightsIsSolvedAsIfAlone) {
  // Edges without penalty separate a block whose weights are 1e-15 of the others'.
  for (int i = 0; i < 1000; ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    std::uniform_real_distribution<double> uniform;
    Row small{"", families()[0].make(random, 20), {}, {}};
    for (int k = 0; k < 20; ++k) small.weight.push_back(1e-15 * (0.1 + uniform(random)));
    for (int k = 0; k < 19; ++k) small.lam.push_back(1e-15 * uniform(random));
    Row whole{"", families()[0].make(random, 8), std::vector<double>(7, 0.5), {}};
    whole.weight.assign(8, 0.1 + uniform(random));
    const Row large = whole;
    for (const Row& block : {small, large}) {
      whole.x.insert(whole.x.end(), block.x.begin(), block.x.end());
      whole.weight.insert(whole.weight.end(), block.weight.begin(), block.weight.end());
      whole.lam.push_back(0);
      whole.lam.insert(whole.lam.end(), block.lam.begin(), block.lam.end());
    }
    const Solution alone(small);
    const Solution together(whole);
    for (std::size_t k = 0; k < 20; ++k) {
      ASSERT_NEAR(together.y[8 + k], alone.y[k], value_tolerance(DType::float64, small)) << i;
    }
  }
}

TEST(ExtremeLam, LargeWeightsPinTheirSamplesAndLeaveTheOthersAlone) {
  // A pinned sample at one end separates the row; the other samples see only its value.
  for (const double pin : {1e6, 1e15, 1e22, 1e29}) {
    const Solution right(Row{"", {0, 5, 1, 4}, {1}, {1, 1, 1, pin}});
    const Solution left(Row{"", {4, 1, 5, 0}, {1}, {pin, 1, 1, 1}});
    const Solution both(Row{"", {4, 7, 1, 5, 0}, {1}, {pin, pin / 3, 1, 1, 1}});
    const std::vector<double> expected = {1, 3, 3, 4};
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_NEAR(right.y[i], expected[i], 2.1 / pin + 1e-14) << pin;
      ASSERT_NEAR(left.y[3 - i], expected[i], 2.1 / pin + 1e-14) << pin;
    }
    ASSERT_NEAR(both.y[4], 1, 1e-14) << pin;
    ASSERT_NEAR(both.y[3], 3, 1e-14) << pin;
  }
}

TEST(ExtremeLam, WeightsOverManyDecadesAgreeWithReference) {
  for (int i = 0; i < 1000; ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    std::uniform_real_distribution<double> uniform;
    Row row{"", families()[0].make(random, 40), {uniform(random)}, std::vector<double>(40)};
    for (double& weight : row.weight) weight = std::pow(10, 16 * uniform(random) - 8);
    const Solution solution(row);
    const std::vector<double> expected = reference::prox_tv1d(row.x, edges_of(row), row.weight);
    for (std::size_t k = 0; k < 40; ++k) {
      ASSERT_NEAR(solution.y[k], expected[k], value_tolerance(DType::float64, row))
          << i << " " << k;
    }
  }
}

TEST(ExtremeLam, OneAndTwoSamples) {
  EXPECT_EQ(Solution(Row{"", {3.5}, {1}, {}}).y, std::vector<double>{3.5});
  EXPECT_EQ(Solution(Row{"", {0, 4}, {1}, {}}).y, (std::vector<double>{1, 3}));
  EXPECT_EQ(Solution(Row{"", {0, 4}, {2}, {}}).y, (std::vector<double>{2, 2}));
  EXPECT_EQ(Solution(Row{"", {0, 4}, {9}, {}}).y, (std::vector<double>{2, 2}));
}

}  // namespace
}  // namespace tautstring::testing
