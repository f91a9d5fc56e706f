// Samples of weight 0: never read, filled by the rule that tv1d.h gives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/tv1d_reference.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(MissingSamples, AreNeverRead) {
  for (int i = 0; i < 500; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 60,
                         LamKind::edges_with_zero_and_infinity, WeightKind::with_missing);
    const Solution plain(row);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      if (row.weight[k] == 0) row.x[k] = k % 2 == 0 ? kNan : kInfinity;
    }
    const Solution poisoned(row);
    ASSERT_EQ(poisoned.y, plain.y) << row.name;
    ASSERT_EQ(poisoned.partition, plain.partition) << row.name;
  }
}

TEST(MissingSamples, PresentOnesAgreeWithReference) {
  for (int i = 0; i < 2000; ++i) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 60, LamKind::edges,
                               WeightKind::with_missing);
    const Solution solution(row);
    const std::vector<double> expected = reference::prox_tv1d(row.x, edges_of(row), row.weight);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      if (row.weight[k] == 0) continue;
      ASSERT_NEAR(solution.y[k], expected[k], value_tolerance(DType::float64, row)) << row.name;
    }
  }
}

TEST(MissingSamples, ARunJumpsAtItsLastSmallestEdge) {
  const Solution solution(Row{"", {0, kNan, kNan, kNan, 8}, {3, 1, 1, 2}, {1, 0, 0, 0, 1}});
  EXPECT_EQ(solution.y, (std::vector<double>{1, 1, 1, 7, 7}));
  EXPECT_EQ(solution.codes()[3], Code::up);
}

TEST(MissingSamples, UnderOneLamTakeTheLeftValue) {
  const Solution solution(Row{"", {0, kNan, kNan, 8}, {1}, {1, 0, 0, 1}});
  EXPECT_EQ(solution.y, (std::vector<double>{1, 1, 1, 7}));
}

TEST(MissingSamples, LeadingAndTrailingTakeTheNearestValue) {
  const Solution solution(Row{"", {kNan, kNan, 0, 8, kNan}, {1}, {0, 0, 1, 1, 0}});
  EXPECT_EQ(solution.y, (std::vector<double>{1, 1, 1, 7, 7}));
}

TEST(MissingSamples, AtLamZeroCopyTheirLeftNeighboursBits) {
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    const Solution solution(Row{"", {kNan, -0.0, kNan, 8, kNan}, {0}, {0, 2, 0, 1, 0}},
                            DType::float32, mode);
    EXPECT_EQ(solution.y, (std::vector<double>{0, 0, 0, 8, 8}));
    for (const std::size_t i : {0U, 1U, 2U}) EXPECT_TRUE(std::signbit(solution.y[i]));
    EXPECT_EQ(solution.codes(), (std::vector<Code>{Code::plain, Code::continues, Code::continues,
                                                   Code::up, Code::continues}));
  }
}

TEST(MissingSamples, InPlaceAtLamZeroReadsBeforeItWrites) {
  std::vector<float> x = {9, 1, 9, 8, 9}, weight = {0, 1, 0, 1, 0};
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {5}), .lam = 0.0, .weight = view(weight.data(), {5})},
                        view(x.data(), {5}))
                  .ok());
  EXPECT_EQ(x, (std::vector<float>{1, 1, 1, 8, 8}));
}

TEST(MissingSamples, AllOfARowMakeItNanAndItsGradientsZero) {
  const Row row{"", {1, 2, 3}, {1}, {0, 0, 0}};
  for (const double lam : {0.0, 1.0}) {
    Row changed = row;
    changed.lam = {lam};
    const Solution solution(changed);
    for (const double value : solution.y) EXPECT_TRUE(std::isnan(value));
    EXPECT_EQ(solution.codes(), (std::vector<Code>{Code::plain, Code::continues, Code::continues}));
    std::vector<double> grad = {1, 2, 3}, grad_x(3, 9), grad_lam(1, 9), grad_weight(3, 9);
    ASSERT_TRUE(prox_tv1d_backward(solution.solved(), view(grad.data(), {3}),
                                   {.x = view(grad_x.data(), {3}),
                                    .lam = view(grad_lam.data(), {1}),
                                    .weight = view(grad_weight.data(), {3})})
                    .ok());
    EXPECT_EQ(grad_x, (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(grad_weight, (std::vector<double>{0, 0, 0}));
    EXPECT_EQ(grad_lam[0], 0);
  }
}

TEST(MissingSamples, HaveNoGradientOfXAndOfWeightOnlyWhereXIsANumber) {
  const Row row{"", {0, kNan, 5, 8}, {1}, {1, 0, 0, 1}};
  const Solution solution(row);
  std::vector<double> grad = {1, 1, 1, 1}, grad_x(4), grad_weight(4);
  ASSERT_TRUE(
      prox_tv1d_backward(solution.solved(), view(grad.data(), {4}),
                         {.x = view(grad_x.data(), {4}), .weight = view(grad_weight.data(), {4})})
          .ok());
  EXPECT_EQ(grad_x, (std::vector<double>{3, 0, 0, 1}));
  EXPECT_EQ(grad_weight, (std::vector<double>{-3, 0, 3 * (5 - 1), 1}));
}

TEST(MissingSamples, TakeNoTangentOfX) {
  const Solution solution(Row{"", {0, kNan, 8}, {1}, {1, 0, 1}});
  const std::vector<double> dx = {1, kNan, 2};
  std::vector<double> dy(3);
  ASSERT_TRUE(
      prox_tv1d_jvp(solution.solved(), {.x = view(dx.data(), {3})}, view(dy.data(), {3})).ok());
  EXPECT_EQ(dy, (std::vector<double>{1, 1, 2}));
}

TEST(MissingSamples, HaveTheSameGradientOfWeightSmoothOrSharp) {
  // Both modes return prox(x) at a missing sample, so its weight has the same effect.
  const Row row{"", {0, 5, 8}, {1}, {1, 0, 1}};
  std::vector<double> smooth(3), sharp(3);
  const std::vector<double> grad = {0, 1, 0};
  for (auto& [mode, out] : {std::pair{Mode::smooth, &smooth}, std::pair{Mode::sharp, &sharp}}) {
    const Solution solution(row, DType::float64, mode);
    ASSERT_TRUE(prox_tv1d_backward(solution.solved(), view(grad.data(), {3}),
                                   {.weight = view(out->data(), {3})})
                    .ok());
  }
  EXPECT_EQ(sharp, smooth);
  EXPECT_EQ(smooth[1], 5 - 1);
}

TEST(MissingSamples, AreSmoothedNotSharpened) {
  const Solution solution(Row{"", {0, kNan, 8}, {1}, {1, 0, 1}}, DType::float64, Mode::sharp);
  EXPECT_EQ(solution.y, (std::vector<double>{-1, 1, 9}));
}

TEST(MissingSamples, WeightOneIsTheSameAsNoWeightUpToRounding) {
  for (int i = 0; i < 300; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100, LamKind::edges,
                         WeightKind::none);
    const Solution plain(row);
    row.weight.assign(row.x.size(), 1);
    const Solution weighted(row);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      ASSERT_NEAR(weighted.y[k], plain.y[k], value_tolerance(DType::float64, row)) << row.name;
    }
  }
}

TEST(MissingSamples, AWholeWeightCountsAsThatManySamples) {
  const Solution weighted(Row{"", {0, 6, 1}, {1}, {1, 3, 2}});
  const Solution repeated(Row{"", {0, 6, 6, 6, 1, 1}, {1, 1e9, 1e9, 1, 1e9}, {}});
  EXPECT_NEAR(weighted.y[0], repeated.y[0], 1e-15);
  EXPECT_NEAR(weighted.y[1], repeated.y[2], 1e-15);
  EXPECT_NEAR(weighted.y[2], repeated.y[5], 1e-15);
}

}  // namespace
}  // namespace tautstring::testing
