// The transformations that the exact solution commutes with: shift, scale, reversal, sign.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

constexpr int kRows = 500;

/// Solves a row and its image under the transformation, and compares the solutions.
template <class Transform, class Back>
void expect_commutes(Transform transform, Back back) {
  for (int i = 0; i < kRows; ++i) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(i), 120,
                   i % 3 == 0 ? LamKind::uniform : LamKind::edges_with_zero_and_infinity,
                   i % 2 == 0 ? WeightKind::none : WeightKind::positive);
    SCOPED_TRACE(row.name);
    Row image = row;
    transform(image);
    const Solution solution(row);
    std::vector<double> y = Solution(image).y;
    back(y);
    const double tolerance =
        2 * (value_tolerance(DType::float64, row) + value_tolerance(DType::float64, image));
    for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(y[k], solution.y[k], tolerance) << k;
  }
}

void reverse(std::vector<double>& values) {
  std::reverse(values.begin(), values.end());
}
void negate(std::vector<double>& values) {
  for (double& value : values) value = -value;
}

TEST(Symmetry, ReversedRowHasReversedSolution) {
  expect_commutes(
      [](Row& row) {
        reverse(row.x);
        reverse(row.lam);
        reverse(row.weight);
      },
      reverse);
}

TEST(Symmetry, NegatedRowHasNegatedSolution) {
  expect_commutes([](Row& row) { negate(row.x); }, negate);
}

TEST(Symmetry, ShiftedRowHasShiftedSolution) {
  expect_commutes(
      [](Row& row) {
        for (double& value : row.x) value += 1024;
      },
      [](std::vector<double>& y) {
        for (double& value : y) value -= 1024;
      });
}

TEST(Symmetry, PowersOfTwoScaleBitForBit) {
  for (int i = 0; i < kRows; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 120, LamKind::edges,
                         WeightKind::positive);
    const Solution plain(row);
    for (double& value : row.x) value *= 0x1p-30;
    for (double& value : row.lam) value *= 0x1p-30;
    const Solution scaled(row);
    ASSERT_EQ(scaled.partition, plain.partition) << row.name;
    for (std::size_t k = 0; k < row.x.size(); ++k) ASSERT_EQ(scaled.y[k], plain.y[k] * 0x1p-30);
  }
}

TEST(Symmetry, WeightsAndLamScaleTogether) {
  expect_commutes(
      [](Row& row) {
        if (row.weight.empty()) row.weight.assign(row.x.size(), 1);
        for (double& weight : row.weight) weight *= 3;
        for (double& lam : row.lam) lam *= 3;
      },
      [](std::vector<double>&) {});
}

TEST(Symmetry, NonExpansiveInTheLargestDifference) {
  for (int i = 0; i < kRows; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 120, LamKind::uniform,
                         WeightKind::none);
    const Solution before(row);
    Random random(base_seed() + static_cast<std::uint64_t>(i));
    const double size = range_of(row.x) * 1e-3;
    for (double& value : row.x)
      value += size * std::uniform_real_distribution<double>(-1, 1)(random);
    const Solution after(row);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      ASSERT_LE(std::abs(after.y[k] - before.y[k]), size + value_tolerance(DType::float64, row))
          << row.name;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
