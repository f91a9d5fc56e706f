// The oracle of the 2D iterations, checked by its own duality gap and against the exact solution.
#include "reference/tv2d_iterations.h"

#include <gtest/gtest.h>

#include "reference/tv1d_reference.h"
#include "reference/tv2d_reference.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

using reference::Iterate2d;
using reference::Method2d;
using reference::Problem2d;

Problem2d random_problem(Random& random, std::int32_t height, std::int32_t width, double lam) {
  Problem2d problem = {height, width, {}, {}, {}};
  std::normal_distribution<double> noise;
  std::uniform_real_distribution<double> part(0.5, 1.5);
  for (std::int32_t i = 0; i < height * width; ++i) problem.x.push_back(noise(random));
  for (std::int32_t i = 0; i < height * (width - 1); ++i) {
    problem.lam_rows.push_back(lam * part(random));
  }
  for (std::int32_t i = 0; i < (height - 1) * width; ++i) {
    problem.lam_cols.push_back(lam * part(random));
  }
  return problem;
}

TEST(Iterations2d, GapIsNeverBelowWhatIsLeftAndGoesTo0) {
  Random random(base_seed());
  for (const double lam : {0.05, 0.5, 3.0}) {
    const Problem2d problem = random_problem(random, 9, 12, lam);
    const Iterate2d best = reference::iterate(problem, Method2d::accelerated, 300);
    const double least = reference::objective(problem, best.y);
    const double scale = reference::objective(problem, problem.x);
    EXPECT_LE(reference::duality_gap(problem, best), 1e-9 * scale) << "lam " << lam;
    for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
      for (const int iterations : {1, 2, 4, 16, 64}) {
        const Iterate2d found = reference::iterate(problem, method, iterations);
        const double gap = reference::duality_gap(problem, found);
        EXPECT_GE(gap, reference::objective(problem, found.y) - least - 1e-12 * scale)
            << "lam " << lam << ", iterations " << iterations;
      }
    }
  }
}

TEST(Iterations2d, GoToTheExactSolution) {
  Random random(base_seed());
  reference::IntegerProblem2d exact = {
      .height = 11, .width = 8, .x = {}, .lam_rows = {}, .lam_cols = {}};
  for (int i = 0; i < 11 * 8; ++i) exact.x.push_back(static_cast<std::int64_t>(random() % 1000));
  for (int i = 0; i < 11 * 7; ++i) {
    exact.lam_rows.push_back(static_cast<std::int64_t>(random() % 300));
  }
  for (int i = 0; i < 10 * 8; ++i) {
    exact.lam_cols.push_back(static_cast<std::int64_t>(random() % 300));
  }
  const reference::ExactSolution2d solution = reference::prox_tv2d(exact);
  const Problem2d problem = {11,
                             8,
                             {exact.x.begin(), exact.x.end()},
                             {exact.lam_rows.begin(), exact.lam_rows.end()},
                             {exact.lam_cols.begin(), exact.lam_cols.end()}};
  const Iterate2d found = reference::iterate(problem, Method2d::accelerated, 2000);
  for (std::size_t i = 0; i < found.y.size(); ++i) EXPECT_NEAR(found.y[i], solution.y[i], 1e-6);
  // y - solution|^2 / 2 is at most the distance of the objective from the optimum, which is at most
  // the gap.
  const Iterate2d early = reference::iterate(problem, Method2d::dykstra, 4);
  double distance = 0;
  for (std::size_t i = 0; i < early.y.size(); ++i) {
    distance += (early.y[i] - solution.y[i]) * (early.y[i] - solution.y[i]) / 2;
  }
  const double left =
      reference::objective(problem, early.y) - reference::objective(problem, solution.y);
  EXPECT_LE(distance, left + 1e-6);
  EXPECT_LE(left, reference::duality_gap(problem, early) + 1e-6);
}

TEST(Iterations2d, AccelerationNeedsFewerPasses) {
  Random random(base_seed());
  const Problem2d problem = random_problem(random, 16, 16, 1);
  const double plain =
      reference::duality_gap(problem, reference::iterate(problem, Method2d::dykstra, 40));
  const double accelerated =
      reference::duality_gap(problem, reference::iterate(problem, Method2d::accelerated, 40));
  EXPECT_LT(accelerated, plain / 10);
}

TEST(Iterations2d, AnImageOfOneRowOrColumnIsSolvedAtOnce) {
  Random random(base_seed());
  const Problem2d row = random_problem(random, 1, 20, 0.7);
  const Problem2d column = random_problem(random, 20, 1, 0.7);
  for (const Problem2d* problem : {&row, &column}) {
    const std::vector<double> expected = reference::prox_tv1d(
        problem->x, problem->height == 1 ? problem->lam_rows : problem->lam_cols);
    const Iterate2d found = reference::iterate(*problem, Method2d::dykstra, 1);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.y[i], expected[i], 1e-14);
    EXPECT_NEAR(reference::duality_gap(*problem, found), 0, 1e-12);
  }
}

}  // namespace
}  // namespace tautstring::testing
