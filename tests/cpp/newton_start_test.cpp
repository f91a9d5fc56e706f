// Newton's iterations that start where an earlier call ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "support/newton.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kLength = 300;
constexpr double kLam = 1.5;

std::vector<double> noise(Random& random, double size = 1) {
  std::vector<double> values(kRows * kLength);
  for (double& value : values) value = std::normal_distribution<double>(0, size)(random);
  return values;
}

NewtonCall solve(const std::vector<double>& x, ConstView start = {}) {
  return {x, kRows, kLam, {.polish = false, .start = start}};
}

int total(const std::vector<std::int32_t>& iterations) {
  return std::accumulate(iterations.begin(), iterations.end(), 0);
}

TEST(NewtonStart, FromItsOwnDualARowTakesOneIteration) {
  for (int trial = 0; trial < 500; ++trial) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(trial), 300,
                   trial % 2 == 0 ? LamKind::uniform : LamKind::edges, WeightKind::none);
    const NewtonCall first(row);
    const NewtonCall again(row, {.polish = false, .start = first.dual_view()});
    EXPECT_EQ(again.iterations[0], 1) << row.name;
    EXPECT_TRUE(again.converged[0]) << row.name;
    for (std::size_t i = 0; i < first.y.size(); ++i) {  // ties are decided by rounding
      ASSERT_NEAR(again.y[i], first.y[i], value_tolerance(DType::float64, row)) << row.name;
    }
  }
}

TEST(NewtonStart, NearTheSolutionItTakesFewerIterations) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  std::vector<double> moved = x;
  const std::vector<double> move = noise(random, 1e-3);
  for (std::size_t i = 0; i < x.size(); ++i) moved[i] += move[i];
  const NewtonCall cold = solve(moved);
  const NewtonCall warm = solve(moved, solve(x).dual_view());
  EXPECT_LT(total(warm.iterations), total(cold.iterations) / 2);
  EXPECT_EQ(warm.partition, cold.partition);
  EXPECT_EQ(warm.y, cold.y);
}

/// A value at its bound is at the bound again, even though float32 cannot represent that number.
TEST(NewtonStart, OfEveryDtypeTakesOneIteration) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32}) {
    for (const double lam : {1.1, 1.3, 1.7}) {
      const NewtonCall first(x, kRows, lam);
      Array dual(dtype, first.dual);
      const NewtonCall again(x, kRows, lam, {.start = dual.view({kRows, kLength - 1})});
      EXPECT_LE(total(again.iterations), kRows * 5 / 4) << dtype_name(dtype) << " lam " << lam;
      EXPECT_EQ(again.partition, first.partition);
    }
  }
}

TEST(NewtonStart, BeyondTheBoundsIsTakenForThem) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  const NewtonCall expected = solve(x);
  std::vector<double> start = expected.dual;
  for (double& value : start) {
    if (std::abs(value) == kLam) value *= 1e6;
  }
  const NewtonCall call = solve(x, view(start.data(), {kRows, kLength - 1}));
  EXPECT_EQ(call.iterations, std::vector<std::int32_t>(kRows, 1));
  EXPECT_EQ(call.y, expected.y);
}

/// Bounds that no edge reaches do not cost digits of the start.
TEST(NewtonStart, AtHugeBoundsEndsAtTheSolution) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  std::vector<double> start(kRows * (kLength - 1));
  for (double& value : start) value = random() % 2 == 0 ? 1e300 : -1e300;
  const Newton1d from = {.polish = false, .start = view(start.data(), {kRows, kLength - 1})};
  const NewtonCall call(x, kRows, 1e200, from);
  EXPECT_EQ(call.converged, std::vector<std::uint8_t>(kRows, 1));
  EXPECT_EQ(call.y, NewtonCall(x, kRows, 1e200).y);
}

TEST(NewtonStart, WhereItIsNotFiniteARowStartsAsWithoutOne) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  const NewtonCall expected = solve(x);
  std::vector<double> start = expected.dual;
  start[kLength + 5] = std::numeric_limits<double>::quiet_NaN();
  start[7 * (kLength - 1)] = -std::numeric_limits<double>::infinity();
  const NewtonCall call = solve(x, view(start.data(), {kRows, kLength - 1}));
  for (std::size_t r = 0; r < kRows; ++r) {
    EXPECT_EQ(call.iterations[r], r == 1 || r == 7 ? expected.iterations[r] : 1) << r;
  }
  EXPECT_EQ(call.y, expected.y);
}

TEST(NewtonStart, AnyStartEndsAtTheSolution) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  const std::vector<double> start = noise(random, 2);
  const NewtonCall expected = solve(x);
  const NewtonCall call = solve(x, view(start.data(), {kRows, kLength - 1}));
  EXPECT_EQ(call.converged, std::vector<std::uint8_t>(kRows, 1));
  EXPECT_EQ(call.y, expected.y);
  EXPECT_EQ(call.partition, expected.partition);
}

TEST(NewtonStart, TheDualMayReplaceTheStart) {
  Random random(base_seed());
  const std::vector<double> x = noise(random);
  std::vector<double> dual = noise(random);
  dual.resize(kRows * (kLength - 1));
  const Newton1d two = {.iterations = 2, .polish = false};
  Newton1d from = two;
  from.start = view(dual.data(), {kRows, kLength - 1});
  const NewtonCall expected(x, kRows, kLam, from);
  std::vector<double> y(x.size());
  const Status status = prox_tv1d_newton(
      {.x = view(x.data(), {kRows, kLength}), .lam = kLam}, from,
      {.y = view(y.data(), {kRows, kLength}), .dual = view(dual.data(), {kRows, kLength - 1})});
  ASSERT_TRUE(status.ok()) << message(status);
  EXPECT_EQ(y, expected.y);
  EXPECT_EQ(dual, expected.dual);
}

}  // namespace
}  // namespace tautstring::testing
