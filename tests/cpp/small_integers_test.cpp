// On small integers with lam a multiple of 1/4, all instruction sets and all dtypes find the exact
// partition: ties are exact there and make no border.
#include <gtest/gtest.h>

#include <array>

#include "support/borders.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

/// Families of integers within [-64, 64].
std::vector<double> integers(Random& random, int n) {
  const int kind = static_cast<int>(random() % 8);
  const int size = 2 + static_cast<int>(random() % 12);
  int level = 0;
  std::vector<double> x(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const int noise = static_cast<int>(random() % static_cast<unsigned>(size)) - size / 2;
    if (random() % 16 == 0) level = static_cast<int>(random() % 41) - 20;
    int value = noise;
    if (kind == 1) value = level;
    if (kind == 2) value = level + noise / 3;
    if (kind == 3) value = i % 64 - 32;
    if (kind == 4) value = (i % 50 < 25 ? i % 25 : 25 - i % 25) + noise / 4;
    if (kind == 5) value = i % 2 == 0 ? size : -size;
    if (kind == 6) value = random() % 64 == 0 ? 1 : 0;  // long segments, close to one another
    if (kind == 7) value = (i / 300 + static_cast<int>(random() % 32 == 0)) % 3;
    x[static_cast<std::size_t>(i)] = value;
  }
  return x;
}

class SmallIntegers : public ::testing::TestWithParam<DType> {
 protected:
  /// Solves a batch of rows of n and compares every row's codes.
  void expect_exact_partitions(int n, int rows, bool per_edge, std::uint64_t seed) const {
    Random random(seed);
    const int largest_lam = std::array{8, 24, 400}[random() % 3];  // quarters
    const auto edges = static_cast<std::size_t>(n - 1);
    std::vector<double> all;
    std::vector<float> lam;
    std::vector<std::vector<Code>> expected;
    for (int r = 0; r < rows; ++r) {
      const std::vector<double> x = integers(random, n);
      all.insert(all.end(), x.begin(), x.end());
      std::vector<double> own(
          edges, static_cast<double>(1 + random() % static_cast<unsigned>(largest_lam)) / 4);
      if (per_edge) {
        for (double& value : own)
          value = static_cast<double>(1 + random() % static_cast<unsigned>(largest_lam)) / 4;
        lam.insert(lam.end(), own.begin(), own.end());
      } else {
        lam.push_back(static_cast<float>(own.empty() ? 1 : own[0]));
      }
      expected.push_back(exact_borders(x, own));
      expected.back()[0] = Code::plain;
    }
    Array x(GetParam(), all);
    Array y(GetParam(), all.size());
    const auto words = static_cast<std::size_t>(partition_words(n));
    std::vector<std::uint32_t> partition(words * static_cast<std::size_t>(rows));
    const Status status =
        prox_tv1d({.x = x.view({rows, n}), .lam = view(lam.data(), {rows, per_edge ? n - 1 : 1})},
                  y.view({rows, n}), partition);
    ASSERT_TRUE(status.ok());
    for (std::size_t r = 0; r < expected.size(); ++r) {
      for (std::size_t i = 0; i < expected[r].size(); ++i) {
        ASSERT_EQ(code_at(partition.data() + r * words, static_cast<std::int64_t>(i)),
                  expected[r][i])
            << "n " << n << (per_edge ? ", lam by edge" : "") << ", row " << r << ", sample " << i
            << ", seed " << seed;
      }
    }
  }
};

TEST_P(SmallIntegers, GiveTheExactPartition) {
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(trial);
    const int n = 2 + static_cast<int>(Random(seed)() % 250);
    expect_exact_partitions(n, 30, trial % 2 == 0, seed);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SmallIntegers, GiveTheExactPartitionOfLongRows) {
  for (int trial = 0; trial < 20; ++trial) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(trial);
    const int n = 1000 + static_cast<int>(Random(seed)() % 1001);
    expect_exact_partitions(n, 30, trial % 2 == 0, seed);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, SmallIntegers,
                         ::testing::Values(DType::float64, DType::float32, DType::bfloat16),
                         [](const auto& test) { return dtype_name(test.param); });

}  // namespace
}  // namespace tautstring::testing
