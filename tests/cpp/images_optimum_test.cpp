// 2D: results against the exact optimum of integer images. The gap is never less than what a
// result is above it, and polished results are it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/tv2d_reference.h"
#include "support/images.h"
#include "support/solve.h"
#include "tautline/error.h"

namespace tautline::testing {
namespace {

using reference::IntegerProblem2d;

struct IntegerImage {
  IntegerProblem2d problem;
  std::vector<double> optimum;
  double largest;
};

/// Noise, few values, spots on a slope; lams of all edges, or one for all.
IntegerImage random_image(Random& random, std::int64_t longest, std::int64_t offset = 0) {
  const auto integer = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  IntegerImage image;
  IntegerProblem2d& p = image.problem;
  p.height = integer(1, longest);
  p.width = integer(1, longest);
  const auto kind = integer(0, 2);
  const std::int64_t size = kind == 1 ? 3 : 255;
  const std::int64_t lam = integer(1, size);
  const bool one_lam = integer(0, 1) == 0;
  for (std::int64_t i = 0; i < p.height * p.width; ++i) {
    p.x.push_back(offset + (kind < 2
                                ? integer(0, size)
                                : 3 * (i / p.width) + 2 * (i % p.width) + integer(0, 8) / 8 * 40));
  }
  const auto make_lams = [&](std::int64_t count) {
    std::vector<std::int64_t> lams;
    for (std::int64_t i = 0; i < count; ++i) lams.push_back(one_lam ? lam : integer(0, lam));
    return lams;
  };
  p.row_lam = make_lams(p.height * (p.width - 1));
  p.column_lam = make_lams((p.height - 1) * p.width);
  image.optimum = reference::prox_tv2d(p).y;
  image.largest = static_cast<double>(*std::max_element(p.x.begin(), p.x.end()));
  return image;
}

std::vector<double> as_doubles(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

/// In long double: an excess is the difference of two of these.
long double objective(const IntegerProblem2d& p, const std::vector<double>& y) {
  long double sum = 0;
  const auto at = [&](std::int64_t r, std::int64_t c) {
    return static_cast<long double>(y[static_cast<std::size_t>(r * p.width + c)]);
  };
  for (std::int64_t r = 0; r < p.height; ++r) {
    for (std::int64_t c = 0; c < p.width; ++c) {
      const auto i = static_cast<std::size_t>(r * p.width + c);
      const long double change = at(r, c) - static_cast<long double>(p.x[i]);
      sum += change * change / 2;
      if (c + 1 < p.width) {
        sum +=
            static_cast<long double>(p.row_lam[static_cast<std::size_t>(r * (p.width - 1) + c)]) *
            std::abs(at(r, c + 1) - at(r, c));
      }
      if (r + 1 < p.height) {
        sum += static_cast<long double>(p.column_lam[i]) * std::abs(at(r + 1, c) - at(r, c));
      }
    }
  }
  return sum;
}

struct Result {
  std::vector<double> y;
  double gap;
};

Result solve(const IntegerProblem2d& p, DType dtype, const Solver2d& solver) {
  const std::vector<double> row_lam = as_doubles(p.row_lam);
  const std::vector<double> column_lam = as_doubles(p.column_lam);
  Array x(dtype, as_doubles(p.x)), y(dtype, p.x.size());
  std::vector<double> gap(1);
  const Status status = prox_tv2d({.x = x.view({p.height, p.width}),
                                   .row_lam = view(row_lam.data(), {p.height, p.width - 1}),
                                   .column_lam = view(column_lam.data(), {p.height - 1, p.width})},
                                  solver, {.y = y.view({p.height, p.width}), .gap = gap});
  EXPECT_TRUE(status.ok()) << message(status);
  return {y.values(), gap[0]};
}

TEST(ImagesOptimum, TheGapIsNotLessThanTheExcess) {
  Random random(base_seed());
  for (int round = 0; round < 300; ++round) {
    // Far from 0, where float32 has few digits left, every fourth time.
    const IntegerImage image = random_image(random, 24, round % 4 == 0 ? 1 << 20 : 0);
    const long double optimum = objective(image.problem, image.optimum);
    std::vector<double> noise(image.problem.x.size());
    for (double& value : noise) value = std::normal_distribution<double>(0, 50)(random);
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const int iterations : {1, 3, 16, 100}) {
        Solver2d solver = {.method = random() % 2 == 0 ? Method2d::dykstra : Method2d::accelerated,
                           .iterations = iterations,
                           .tol = random() % 2 == 0 ? 0 : 1e-7,
                           .derivative = random() % 2 == 0 ? Derivative2d::of_solution
                                                           : Derivative2d::of_iterations};
        if (random() % 4 == 0) {
          solver.start = view(noise.data(), {image.problem.height, image.problem.width});
        }
        const Result result = solve(image.problem, dtype, solver);
        const long double excess = objective(image.problem, result.y) - optimum;
        // The optimum itself is rounded to float64: that is what may be missing.
        ASSERT_GE(result.gap, static_cast<double>(excess - optimum * 1e-15L))
            << "round " << round << ", " << dtype_name(dtype) << ", " << iterations
            << " iterations, excess " << static_cast<double>(excess);
      }
    }
  }
}

/// Small types are computed with as float32; their gap is that of the result before it is rounded.
TEST(ImagesOptimum, SmallTypesAreFloat32RoundedOnce) {
  Random random(base_seed());
  for (int round = 0; round < 40; ++round) {
    const IntegerImage image = random_image(random, 24);  // of integers that every type has
    for (const Solver2d& solver :
         {Solver2d{.iterations = 5}, Solver2d{.method = Method2d::accelerated,
                                     .iterations = 40,
                                     .tol = 1e-5,
                                     .derivative = Derivative2d::of_solution}}) {
      const Result expected = solve(image.problem, DType::float32, solver);
      for (const DType dtype : {DType::float16, DType::bfloat16}) {
        const Result result = solve(image.problem, dtype, solver);
        ASSERT_EQ(result.y, Array(dtype, expected.y).values()) << dtype_name(dtype);
        ASSERT_EQ(result.gap, expected.gap);
      }
    }
  }
}

TEST(ImagesOptimum, APolishedResultIsIt) {
  Random random(base_seed());
  for (int round = 0; round < 200; ++round) {
    const IntegerImage image = random_image(random, 20);
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Solver2d solver = {.method = Method2d::accelerated,
                               .iterations = 1000,
                               .tol = dtype == DType::float64 ? 1e-12 : 1e-8,
                               .derivative = Derivative2d::of_solution};
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
}  // namespace tautline::testing
