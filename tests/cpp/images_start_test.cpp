// 2D: iterations that start where an earlier call ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/images.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kCount = 3;
constexpr std::int64_t kHeight = 24;
constexpr std::int64_t kWidth = 31;
constexpr Solver2d kToTol = {.method = Method2d::accelerated, .iterations = 500, .tol = 1e-6};

ConstView images(const std::vector<double>& values) {
  return view(values.data(), {kCount, kHeight, kWidth});
}

Solver2d from(const std::vector<double>& dual, Solver2d solver = kToTol) {
  solver.start = images(dual);
  return solver;
}

/// Sums of values along rows, or columns, must be within the bounds of their edges.
void expect_within_bounds(const std::vector<double>& values, const std::vector<double>& lam,
                          bool along_rows) {
  for (std::int64_t image = 0; image < kCount; ++image) {
    for (std::int64_t line = 0; line < (along_rows ? kHeight : kWidth); ++line) {
      const std::int64_t length = along_rows ? kWidth : kHeight;
      double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t r = along_rows ? line : k;
        const std::int64_t c = along_rows ? k : line;
        sum += values[static_cast<std::size_t>((image * kHeight + r) * kWidth + c)];
        const std::int64_t edge = along_rows ? (image * kHeight + r) * (kWidth - 1) + c
                                             : (image * (kHeight - 1) + r) * kWidth + c;
        const double bound = k + 1 < length ? lam[static_cast<std::size_t>(edge)] : 0;
        ASSERT_LE(std::abs(sum), bound + 1e-12);
      }
    }
  }
}

TEST(ImagesStart, TheDualIsWhatTheColumnsHoldOfTheChange) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    const SolvedImagesCall call(batch, kToTol, mode);
    std::vector<double> rows_part(batch.x.size());
    for (std::size_t i = 0; i < rows_part.size(); ++i) {
      const double change = mode == Mode::smooth ? batch.x[i] - call.y[i] : call.y[i] - batch.x[i];
      rows_part[i] = change - call.dual[i];
    }
    expect_within_bounds(call.dual, batch.lam_cols, false);
    expect_within_bounds(rows_part, batch.lam_rows, true);
  }
}

TEST(ImagesStart, NearTheSolutionItTakesFewerIterations) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  ImageBatch moved = batch;
  for (double& value : moved.x) value += std::normal_distribution<double>(0, 1e-3)(random);
  for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
    Solver2d solver = kToTol;
    solver.method = method;
    solver.tol = 1e-4;
    const SolvedImagesCall before(batch, solver);
    const SolvedImagesCall cold(moved, solver);
    const SolvedImagesCall warm(moved, from(before.dual, solver));
    for (std::size_t i = 0; i < kCount; ++i) {
      EXPECT_LT(warm.iterations[i], cold.iterations[i]);
      const double objective =
          reference::objective(moved.image(static_cast<std::int64_t>(i)),
                               std::span(warm.y).subspan(i * moved.pixels(), moved.pixels()));
      EXPECT_LE(warm.gap[i], solver.tol * objective * (1 + 1e-9));
    }
  }
}

TEST(ImagesStart, WhatHasConvergedStaysSo) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  const SolvedImagesCall first(batch, kToTol);
  const SolvedImagesCall again(batch, from(first.dual));
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_GT(first.iterations[i], 4);
    EXPECT_EQ(again.iterations[i], 4);  // when the gap is checked for the first time
    EXPECT_LE(again.gap[i], first.gap[i]);
  }
}

TEST(ImagesStart, AtZeroOrAtWhatIsNotFiniteIsFromTheBeginning) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  const SolvedImagesCall expected(batch, kToTol);
  std::vector<double> start(batch.x.size());
  start[batch.pixels() + 5] = std::numeric_limits<double>::quiet_NaN();
  start[2 * batch.pixels()] = std::numeric_limits<double>::infinity();
  start[2 * batch.pixels() + 1] = 7;
  const SolvedImagesCall call(batch, from(start));
  EXPECT_EQ(call.y, expected.y);
  EXPECT_EQ(call.iterations, expected.iterations);
}

TEST(ImagesStart, TheDualMayReplaceTheStart) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  const Solver2d three = {.iterations = 3};
  const std::vector<double> start = SolvedImagesCall(batch, three).dual;
  const SolvedImagesCall expected(batch, from(start, three));
  std::vector<double> dual = start, y(start.size());
  const View there = view(dual.data(), {kCount, kHeight, kWidth});
  const Status status = prox_tv2d(batch.problem(), from(dual, three),
                                  {.y = view(y.data(), {kCount, kHeight, kWidth}), .dual = there});
  ASSERT_TRUE(status.ok()) << message(status);
  EXPECT_EQ(y, expected.y);
  EXPECT_EQ(dual, expected.dual);
}

/// Iterations without momentum have no state except the dual: they can be split anywhere.
TEST(ImagesStart, PlainIterationsGoOnWhereTheyEnded) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.7);
  const SolvedImagesCall seven(batch, {.iterations = 7});
  const SolvedImagesCall three(batch, {.iterations = 3});
  const SolvedImagesCall four(batch, from(three.dual, {.iterations = 4}));
  for (std::size_t i = 0; i < four.y.size(); ++i) {
    ASSERT_NEAR(four.y[i], seven.y[i], 1e-12);
    ASSERT_NEAR(four.dual[i], seven.dual[i], 1e-12);
  }
  for (std::size_t i = 0; i < kCount; ++i) EXPECT_NEAR(four.gap[i], seven.gap[i], 1e-10);
}

TEST(ImagesStart, DerivativesTakeItForConstant) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.5);
  const std::vector<double> start = SolvedImagesCall(batch, {.iterations = 3}).dual;
  for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
    const Solver2d solver = from(start, {.method = method, .iterations = 6});
    const ImageBatch v = random_images(random, kCount, kHeight, kWidth, 1);
    const std::vector<double> g = random_images(random, kCount, kHeight, kWidth, 1).x;
    const auto beside = [&](double step) {
      ImageBatch moved = batch;
      for (std::size_t i = 0; i < v.x.size(); ++i) moved.x[i] += step * v.x[i];
      return inner(SolvedImagesCall(moved, solver).y, g);
    };
    constexpr double kStep = 1e-8;
    const SolvedImagesCall call(batch, solver);
    const double slope = (beside(kStep) - beside(-kStep)) / (2 * kStep);
    EXPECT_NEAR(inner(call.backward(g).x, v.x), slope, 1e-5);
    EXPECT_NEAR(inner(call.jvp(v), g), inner(call.backward(g), v), 1e-10);
  }
}

}  // namespace
}  // namespace tautstring::testing
