// The partition: its layout, and that it agrees with the solution.
#include <gtest/gtest.h>

#include <cmath>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

TEST(Partition, LayoutIsTwoBitsAnElementSixteenAWord) {
  // 18 elements, a jump up at 16 and one down at 17: word 0 starts the row.
  std::vector<double> x(18, 0.0);
  x[16] = 100;
  x[17] = 50;
  const Solution solution(Row{"", x, {1}, {}});
  EXPECT_EQ(solution.partition, (std::vector<std::uint32_t>{3, 1 | 2 << 2}));
}

TEST(Partition, RowsFollowRowMajorOrderWhateverTheStrides) {
  // A 3 x 4 array solved along dim 0: the rows are its 4 columns.
  std::vector<float> x = {0, 9, 0, 0,  //
                          0, 9, 9, 0,  //
                          0, 0, 9, 0},
                     y(12);
  std::vector<std::uint32_t> partition(4);
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {3, 4}), .lam = 1.0, .dim = 0}, view(y.data(), {3, 4}),
                        partition)
                  .ok());
  EXPECT_EQ(partition, (std::vector<std::uint32_t>{3, 3 | 2 << 4, 3 | 1 << 2, 3}));
}

TEST(Partition, CodesAgreeWithTheJumpsOfTheSolution) {
  for (int i = 0; i < 3000; ++i) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(i), 150,
                   i % 2 == 0 ? LamKind::uniform : LamKind::edges_with_zero_and_infinity,
                   i % 3 == 0 ? WeightKind::with_missing : WeightKind::none);
    SCOPED_TRACE(row.name);
    const Solution solution(row);
    const std::vector<Code> codes = solution.codes();
    ASSERT_EQ(codes[0], Code::plain);
    for (std::size_t k = 1; k < codes.size(); ++k) {
      const double jump = solution.y[k] - solution.y[k - 1];
      if (codes[k] == Code::continues) {
        ASSERT_EQ(jump, 0);
      }
      if (codes[k] == Code::up) {
        ASSERT_GE(jump, 0);
      }
      if (codes[k] == Code::down) {
        ASSERT_LE(jump, 0);
      }
      if (codes[k] == Code::plain && row.weight.empty()) {
        ASSERT_EQ(edges_of(row)[k - 1], 0);
      }
    }
  }
}

TEST(Partition, MergesExactTiesOnSmallIntegers) {
  // If arithmetic is exact, there must be no border between equal values.
  for (int i = 0; i < 3000; ++i) {
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    Row row{"", {}, {static_cast<double>(random() % 12 + 1) / 4}, {}};
    for (int k = 0; k < 40; ++k) row.x.push_back(static_cast<double>(random() % 5));
    const Solution solution(row);
    const std::vector<Code> codes = solution.codes();
    for (std::size_t k = 1; k < codes.size(); ++k) {
      if (codes[k] != Code::continues) {
        ASSERT_NE(solution.y[k], solution.y[k - 1]) << i;
      }
    }
  }
}

TEST(Partition, UnusedBitsAreZero) {
  for (std::int64_t n = 1; n < 40; ++n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = k % 2 == 0 ? 5.0 : -5.0;
    std::vector<double> y(x.size());
    std::vector<std::uint32_t> partition(static_cast<std::size_t>(partition_words(n)), ~0U);
    ASSERT_TRUE(
        prox_tv1d({.x = view(x.data(), {n}), .lam = 0.1}, view(y.data(), {n}), partition).ok());
    if (n % 16 != 0) {
      EXPECT_EQ(partition.back() >> (2 * (n % 16)), 0U) << n;
    }
  }
}

TEST(Partition, IsTheSameWhetherOrNotItIsAskedFor) {
  const Row row = random_row(base_seed(), 100, LamKind::uniform, WeightKind::none);
  const auto n = static_cast<std::int64_t>(row.x.size());
  std::vector<double> y(row.x.size());
  ASSERT_TRUE(
      prox_tv1d({.x = view(row.x.data(), {n}), .lam = row.lam[0]}, view(y.data(), {n})).ok());
  EXPECT_EQ(y, Solution(row).y);
}

}  // namespace
}  // namespace tautstring::testing
