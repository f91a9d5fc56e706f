// 2D: results against the exact optimum of integer images. The gap is never less than the distance
// of the objective from the optimum, and polished results are the optimum.
#include <gtest/gtest.h>

#include "support/integer_images.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

using reference::IntegerProblem2d;

struct Result {
  std::vector<double> y;
  double gap;
};

Result solve(const IntegerProblem2d& p, DType dtype, const Solver2d& solver) {
  const std::vector<double> lam_rows = as_doubles(p.lam_rows);
  const std::vector<double> lam_cols = as_doubles(p.lam_cols);
  Array x(dtype, as_doubles(p.x)), y(dtype, p.x.size());
  std::vector<double> gap(1);
  const Status status = prox_tv2d({.x = x.view({p.height, p.width}),
                                   .lam_rows = view(lam_rows.data(), {p.height, p.width - 1}),
                                   .lam_cols = view(lam_cols.data(), {p.height - 1, p.width})},
                                  solver, {.y = y.view({p.height, p.width}), .gap = gap});
  EXPECT_TRUE(status.ok()) << message(status);
  return {y.values(), gap[0]};
}

TEST(ImagesOptimum, TheGapIsNotLessThanTheExcess) {
  Random random(base_seed());
  for (int round = 0; round < 300; ++round) {
    // Far from 0, where float32 has few digits left, every fourth time; large ones now and then.
    const std::int64_t longest = round % 50 == 49 ? 100 : 24;
    const IntegerImage image = random_image(random, longest, round % 4 == 0 ? 1 << 20 : 0);
    const long double optimum = objective(image.problem, image.optimum);
    std::vector<double> noise(image.problem.x.size());
    for (double& value : noise) value = std::normal_distribution<double>(0, 50)(random);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const int iterations : {1, 3, 16, 100}) {
        Solver2d solver = {
            .method = random() % 2 == 0 ? Method2d::dykstra : Method2d::accelerated,
            .iterations = iterations,
            .tol = random() % 2 == 0 ? 0 : 1e-7,
            .derivative = random() % 2 == 0 ? Derivative2d::implicit : Derivative2d::unrolled};
        if (random() % 4 == 0) {
          solver.start = view(noise.data(), {image.problem.height, image.problem.width});
        }
        const Result result = solve(image.problem, dtype, solver);
        const long double excess = objective(image.problem, result.y) - optimum;
        // The optimum itself is rounded to float64, so the gap may be less by that rounding.
        ASSERT_GE(result.gap, static_cast<double>(excess - optimum * 1e-15L))
            << "round " << round << ", " << dtype_name(dtype) << ", " << iterations
            << " iterations, excess " << static_cast<double>(excess);
      }
    }
  }
}

/// Small types are computed with as float32. What rounding adds to the excess it adds to the gap.
TEST(ImagesOptimum, SmallTypesAreFloat32RoundedOnce) {
  Random random(base_seed());
  for (int round = 0; round < 40; ++round) {
    const IntegerImage image = random_image(random, 24);  // of integers that every type has
    const long double optimum = objective(image.problem, image.optimum);
    for (const Solver2d& solver :
         {Solver2d{.iterations = 5}, Solver2d{.method = Method2d::accelerated,
                                     .iterations = 40,
                                     .tol = 1e-5,
                                     .derivative = Derivative2d::implicit}}) {
      const Result expected = solve(image.problem, DType::float32, solver);
      for (const DType dtype : {DType::float16, DType::bfloat16}) {
        const Result result = solve(image.problem, dtype, solver);
        ASSERT_EQ(result.y, Array(dtype, expected.y).values()) << dtype_name(dtype);
        const long double excess = objective(image.problem, result.y) - optimum;
        const long double added = excess - (objective(image.problem, expected.y) - optimum);
        ASSERT_GE(result.gap, static_cast<double>(excess - optimum * 1e-15L)) << dtype_name(dtype);
        ASSERT_NEAR(result.gap, expected.gap + static_cast<double>(added),
                    1e-5 * static_cast<double>(optimum))
            << dtype_name(dtype);
      }
    }
  }
}

TEST(ImagesOptimum, APolishedResultIsIt) {
  Random random(base_seed());
  for (int round = 0; round < 200; ++round) {
    const IntegerImage image = random_image(random, round % 50 == 49 ? 50 : 20);
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Solver2d solver = {.method = Method2d::accelerated,
                               .iterations = 1000,
                               .tol = dtype == DType::float64 ? 1e-12 : 1e-8,
                               .derivative = Derivative2d::implicit};
      const Result result = solve(image.problem, dtype, solver);
      const double tolerance = dtype == DType::float64
                                   ? 1e-12 * image.largest
                                   : 2 * unit_in_last_place(dtype, image.largest);
      for (std::size_t i = 0; i < result.y.size(); ++i) {
        ASSERT_NEAR(result.y[i], image.optimum[i], tolerance)
            << "round " << round << ", " << dtype_name(dtype) << ", gap " << result.gap;
      }
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
