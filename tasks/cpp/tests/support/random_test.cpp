// Known answers and exact moments. Bounds are five standard deviations, and seeds are fixed.
#include "support/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace tautstring_tasks {
namespace {

constexpr int kDraws = 200000;

TEST(Philox, HasTheKnownAnswers) {
  // The three of the authors' own test, for zeros, ones and the digits of pi.
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

/// The first four moments about a centre.
struct Moments {
  double first = 0, second = 0, third = 0, fourth = 0;
};

template <class Draw>
Moments moments(double centre, const Draw& draw) {
  Moments sums;
  for (int i = 0; i < kDraws; ++i) {
    const double d = draw() - centre;
    sums.first += d / kDraws;
    sums.second += d * d / kDraws;
    sums.third += d * d * d / kDraws;
    sums.fourth += d * d * d * d / kDraws;
  }
  return sums;
}

/// Five standard deviations of the mean of values of this variance.
double five_sigma(double variance) {
  return 5 * std::sqrt(variance / kDraws);
}

TEST(Uniform, HasItsMoments) {
  Stream stream(1, 2, 3);
  const Moments found = moments(0.5, [&] { return stream.uniform(); });
  EXPECT_NEAR(found.first, 0, five_sigma(1.0 / 12));
  EXPECT_NEAR(found.second, 1.0 / 12, five_sigma(1.0 / 80 - 1.0 / 144));
  EXPECT_NEAR(found.third, 0, five_sigma(1.0 / 448));
  EXPECT_NEAR(found.fourth, 1.0 / 80, five_sigma(1.0 / 2304 - 1.0 / 6400));
}

TEST(Uniform, FillsTheUnitIntervalEvenly) {
  constexpr int cells = 64;
  std::vector<int> counts(cells);
  Stream stream(4, 5, 6);
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++counts[static_cast<std::size_t>(u * cells)];
  }
  double chi2 = 0;
  const double expected = static_cast<double>(kDraws) / cells;
  for (const int count : counts) chi2 += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi2, cells - 1 + 5 * std::sqrt(2.0 * (cells - 1)));
}

TEST(Normal, HasItsMoments) {
  Stream stream(7, 8, 9);
  const Moments found = moments(0, [&] { return stream.normal(); });
  EXPECT_NEAR(found.first, 0, five_sigma(1));
  EXPECT_NEAR(found.second, 1, five_sigma(2));
  EXPECT_NEAR(found.third, 0, five_sigma(15));
  EXPECT_NEAR(found.fourth, 3, five_sigma(96));
}

TEST(Normal, QuantileIsTheInverseOfTheDistribution) {
  for (double p = 1e-300; p < 1e-3; p *= 7) {
    const double z = normal_quantile(p);
    EXPECT_NEAR(std::erfc(-z / std::sqrt(2)) / 2 / p, 1, 2e-13 * std::max(1.0, z * z)) << p;
  }
  for (double p = 1e-3; p < 1; p += 1e-3) {
    EXPECT_NEAR(std::erfc(-normal_quantile(p) / std::sqrt(2)) / 2, p, 1e-15) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
}

class Poisson : public ::testing::TestWithParam<double> {};

TEST_P(Poisson, HasItsMoments) {
  const double mean = GetParam();
  const PoissonQuantile quantile(mean);
  Stream stream(10, 11, 12);
  const Moments found = moments(mean, [&] { return quantile(stream.uniform()); });
  const double fourth = mean + 3 * mean * mean;
  EXPECT_NEAR(found.first, 0, five_sigma(mean));
  EXPECT_NEAR(found.second, mean, five_sigma(fourth - mean * mean));
  const double sixth = mean + 25 * mean * mean + 15 * mean * mean * mean;
  EXPECT_NEAR(found.third, mean, five_sigma(sixth - mean * mean));
}

TEST_P(Poisson, QuantileIsTheInverseOfTheDistribution) {
  const double mean = GetParam();
  const PoissonQuantile quantile(mean);
  double probability = std::exp(-mean);
  double below = 0;
  for (int k = 0; k < mean + 5 * std::sqrt(mean) + 5; ++k) {
    if (probability > 1e-9) {
      EXPECT_EQ(quantile(below + 0.01 * probability), k);
      EXPECT_EQ(quantile(below + 0.99 * probability), k);
    }
    below += probability;
    probability *= mean / (k + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Means, Poisson,
                         ::testing::Values(0.01, 0.196, 1.0, 7.84, 50.0, 250.0, 500.0));

TEST(Poisson, OfMeanZeroIsZero) {
  const PoissonQuantile quantile(0);
  EXPECT_EQ(quantile(0), 0);
  EXPECT_EQ(quantile(0.999999), 0);
}

TEST(Stream, DependsOnNothingButItsName) {
  Stream one(1, 2, 3);
  Stream same(1, 2, 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.uniform(), same.uniform());
}

TEST(Stream, OthersDifferInEveryPartOfTheName) {
  const double first = Stream(1, 2, 3).uniform();
  EXPECT_NE(first, Stream(2, 2, 3).uniform());
  EXPECT_NE(first, Stream(1, 3, 3).uniform());
  EXPECT_NE(first, Stream(1, 2, 4).uniform());
  EXPECT_NE(first, Stream(1 + (std::uint64_t{1} << 40), 2, 3).uniform());
  EXPECT_NE(first, Stream(1, 2, 3 + (std::uint64_t{1} << 40)).uniform());
}

}  // namespace
}  // namespace tautstring_tasks
