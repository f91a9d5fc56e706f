// The arithmetic of the 2D gap that devices share.
#include "step/image/gap.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/rows.h"

namespace tautstring::testing {
namespace {

using namespace tautstring::detail;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Summed over edges and pixels, the gap is the objective at Y less that of the dual problem, for
/// any values of both. The graph is a cross: a pixel and its four neighbours.
TEST(Gap, IsTheDifferenceOfBothObjectives) {
  Random random(base_seed());
  std::normal_distribution<double> noise;
  for (int round = 0; round < 1000; ++round) {
    const double scale = gap_scale<double>(std::ldexp(1.0, round % 40));
    const auto draw = [&] { return noise(random) / scale; };
    // The four neighbours of the pixel in the middle, which is the last one.
    std::vector<double> x(5), y(5), lam(4), dual(4);
    for (double& value : x) value = draw();
    for (double& value : y) value = draw();
    for (double& value : lam) value = std::abs(draw());
    for (double& value : dual) value = draw();
    const int from[] = {0, 4, 2, 4};
    const int to[] = {4, 1, 4, 3};
    double gap = 0, objective = 0, primal = 0, dual_objective = 0;
    std::vector<double> counted(4), held(5);
    for (int e = 0; e < 4; ++e) {
      const double rise = scaled_difference(y[from[e]], y[to[e]], scale);
      const double bound = scaled_lam<double>(lam[e], scale);
      counted[e] = counted_dual<double>(dual[e] * scale, bound, rise, 1);
      EXPECT_LE(std::abs(counted[e]), bound);
      gap += edge_gap(counted[e], bound, rise);
      objective += edge_objective(bound, rise);
      primal += bound * std::abs(rise);
      held[from[e]] -= counted[e];
      held[to[e]] += counted[e];
    }
    const auto add_pixel = [&](int i, double left, double right, double above, double below) {
      const double change = scaled_difference(y[i], x[i], scale);
      const double residual = pixel_residual(left, right, above, below, change);
      gap += residual * residual / 2;
      objective += change * change / 2;
      primal += change * change / 2;
      // min over z of 1/2 |z - x|^2 + <dual, rises of z>, at z = x - held.
      dual_objective += held[i] * x[i] * scale - held[i] * held[i] / 2;
    };
    add_pixel(0, 0, counted[0], 0, 0);
    add_pixel(1, counted[1], 0, 0, 0);
    add_pixel(2, 0, 0, 0, counted[2]);
    add_pixel(3, 0, 0, counted[3], 0);
    add_pixel(4, counted[0], counted[1], counted[2], counted[3]);
    ASSERT_NEAR(objective, primal, 1e-13 * primal);
    ASSERT_NEAR(gap, primal - dual_objective, 1e-12 * (1 + primal)) << "round " << round;
  }
}

TEST(Gap, CountsADualAtItsBoundOnlyWhereThatCostsLess) {
  constexpr double kLam = 2;
  for (const double rise : {3.0, -3.0}) {
    const double bound = std::copysign(kLam, rise);
    // Equal to the bound up to rounding, from either side; not from far away, nor at the other end.
    EXPECT_EQ(counted_dual<float>(bound * (1 - 1e-5), kLam, rise, 1), bound);
    EXPECT_EQ(counted_dual<float>(bound * (1 + 1e-2), kLam, rise, 1), bound);
    EXPECT_EQ(counted_dual<float>(bound * (1 - 1e-3), kLam, rise, 1), bound * (1 - 1e-3));
    EXPECT_EQ(counted_dual<float>(-bound * (1 - 1e-6), kLam, rise, 1), -bound * (1 - 1e-6));
    EXPECT_EQ(counted_dual<double>(bound * (1 - 1e-5), kLam, rise, 1), bound * (1 - 1e-5));
    EXPECT_EQ(counted_dual<double>(bound * (1 - 1e-14), kLam, rise, 1), bound);
    // A large image rounds more; a small rise is not worth rounding for.
    EXPECT_EQ(counted_dual<float>(bound * (1 - 1e-3), kLam, rise, 1e3), bound);
    EXPECT_EQ(counted_dual<float>(bound * (1 - 1e-5), kLam, rise * 1e-6, 1), bound * (1 - 1e-5));
  }
}

TEST(Gap, OfAnEdgeWithoutARiseIsNothing) {
  for (const double lam : {0.0, 1.0, kInfinity}) {
    for (const double rise : {0.0, -0.0}) {
      EXPECT_EQ(edge_gap(counted_dual<float>(0.5, lam, rise, 1), lam, rise), 0);
      EXPECT_EQ(edge_objective(lam, rise), 0);
    }
  }
  EXPECT_EQ(edge_gap(counted_dual<float>(0.5, kInfinity, 1, 1), kInfinity, 1), kInfinity);
  EXPECT_EQ(edge_objective(kInfinity, -1), kInfinity);
}

TEST(Gap, SamplesFarFromZeroAreCountedFromTheFirst) {
  EXPECT_EQ(origin_of(100.0F, 200.0F, 150.0F), 150.0F);
  EXPECT_EQ(origin_of(-200.0F, -100.0F, -150.0F), -150.0F);
  EXPECT_EQ(origin_of(100.0F, 201.0F, 150.0F), 0.0F);
  EXPECT_EQ(origin_of(-1.0F, 1000.0F, 999.0F), 0.0F);
  EXPECT_EQ(origin_of(0.0F, 0.0F, 0.0F), 0.0F);
}

TEST(Gap, ScalesBringSquaresIntoRange) {
  EXPECT_EQ(gap_scale<float>(1e30), 1);
  EXPECT_EQ(gap_scale<double>(0), 1);
  for (const double largest : {5e-324, 1e-300, 1.0, 3.0, 1e300}) {
    const double scale = gap_scale<double>(largest);
    EXPECT_TRUE(std::isfinite(1 / scale));
    EXPECT_GE(largest * scale, 0x1p-75);
    EXPECT_LT(largest * scale, 2);
  }
}

}  // namespace
}  // namespace tautstring::testing
