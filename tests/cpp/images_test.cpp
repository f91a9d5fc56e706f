// 2D: the iterations against their oracle, the gap, batches and layouts.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "reference/tv2d_iterations.h"
#include "support/rows.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

reference::Problem2d random_image(Random& random, std::int32_t height, std::int32_t width,
                                  double lam) {
  reference::Problem2d problem = {height, width, {}, {}, {}};
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

::testing::AssertionResult succeeds(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << message(status);
}

TEST(Images, HaveTheIteratesOfTheOracle) {
  Random random(base_seed());
  for (const auto& [height, width] :
       {std::pair{7, 12}, {12, 7}, {1, 9}, {9, 1}, {1, 1}, {40, 33}, {1, 70}, {100, 65}}) {
    const reference::Problem2d image = random_image(random, height, width, 0.6);
    for (const bool accelerated : {false, true}) {
      for (const int iterations : {1, 2, 4, 9}) {
        const reference::Iterate2d expected = reference::iterate(
            image, accelerated ? reference::Method2d::accelerated : reference::Method2d::dykstra,
            iterations);
        std::vector<double> y(image.x.size()), gap(1);
        const Problem2d problem = {.x = view(image.x.data(), {height, width}),
                                   .lam_rows = view(image.lam_rows.data(), {height, width - 1}),
                                   .lam_cols = view(image.lam_cols.data(), {height - 1, width})};
        const Status status =
            prox_tv2d(problem,
                      {.method = accelerated ? Method2d::accelerated : Method2d::dykstra,
                       .iterations = iterations},
                      {.y = view(y.data(), {height, width}), .gap = gap});
        ASSERT_TRUE(succeeds(status));
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected.y[i], 1e-10);
        const double expected_gap = reference::duality_gap(image, expected);
        EXPECT_NEAR(gap[0], expected_gap, 1e-9 * (1 + expected_gap));
      }
    }
  }
}

/// One lam per line: the case that devices solve in blocks for small images.
struct LineLams {
  LineLams(Random& random, std::int32_t height, std::int32_t width, float lam) {
    std::uniform_real_distribution<float> part(0.5F, 1.5F);
    for (std::int32_t r = 0; r < height; ++r) rows.push_back(lam * part(random));
    for (std::int32_t c = 0; c < width; ++c) columns.push_back(lam * part(random));
  }
  /// The same for each edge.
  void write_to(reference::Problem2d& image) const {
    image.lam_rows.clear();
    image.lam_cols.clear();
    for (const float lam : rows) image.lam_rows.insert(image.lam_rows.end(), image.width - 1, lam);
    for (std::int32_t r = 0; r + 1 < image.height; ++r) {
      image.lam_cols.insert(image.lam_cols.end(), columns.begin(), columns.end());
    }
  }

  std::vector<float> rows;
  std::vector<float> columns;
};

constexpr std::pair<int, int> kSizes[] = {{7, 12},  {12, 7},  {1, 9},   {9, 1},   {1, 1},
                                          {32, 32}, {31, 20}, {33, 32}, {37, 53}, {64, 64},
                                          {64, 9},  {65, 40}, {130, 70}};

TEST(Images, HaveTheIteratesOfTheOracleInFloat32) {
  Random random(base_seed());
  for (const auto& [height, width] : kSizes) {
    reference::Problem2d image = random_image(random, height, width, 1);
    for (double& value : image.x) value = static_cast<float>(value);
    const LineLams lams(random, height, width, 0.6F);
    lams.write_to(image);
    const std::vector<float> x(image.x.begin(), image.x.end());
    for (const bool accelerated : {false, true}) {
      for (const int iterations : {1, 4, 7}) {
        const reference::Iterate2d expected = reference::iterate(
            image, accelerated ? reference::Method2d::accelerated : reference::Method2d::dykstra,
            iterations);
        std::vector<float> y(x.size());
        const Problem2d problem = {.x = view(x.data(), {height, width}),
                                   .lam_rows = view(lams.rows.data(), {height, 1}),
                                   .lam_cols = view(lams.columns.data(), {1, width})};
        const Status status =
            prox_tv2d(problem,
                      {.method = accelerated ? Method2d::accelerated : Method2d::dykstra,
                       .iterations = iterations},
                      {.y = view(y.data(), {height, width})});
        ASSERT_TRUE(succeeds(status));
        for (std::size_t i = 0; i < y.size(); ++i) {
          ASSERT_NEAR(y[i], expected.y[i], 2e-5)
              << height << " x " << width << ", " << iterations << " iterations, pixel " << i;
        }
      }
    }
  }
}

TEST(Images, HaveTheSameBitsForEqualLams) {
  Random random(base_seed());
  for (const auto& [height, width] : kSizes) {
    const reference::Problem2d image = random_image(random, height, width, 1);
    const ConstView x = view(image.x.data(), {height, width});
    const std::vector<double> lams(static_cast<std::size_t>(height) * width, 0.7);
    const auto solve = [&](const Lam& lam_rows, const Lam& lam_cols) {
      std::vector<double> y(image.x.size());
      EXPECT_TRUE(succeeds(prox_tv2d({.x = x, .lam_rows = lam_rows, .lam_cols = lam_cols}, {},
                                     {.y = view(y.data(), {height, width})})));
      return y;
    };
    const std::vector<double> expected = solve(0.7, 0.7);
    EXPECT_EQ(solve(view(lams.data(), {height, 1}), view(lams.data(), {1, width})), expected);
    EXPECT_EQ(solve(view(lams.data(), {height, width - 1}), view(lams.data(), {height - 1, width})),
              expected);
  }
}

/// The partitions of one call give the same gradients in float32 and in float64.
TEST(Images, HaveTheGradientOfFloat64InFloat32) {
  Random random(base_seed());
  constexpr int kIterations = 5;
  for (const auto& [height, width] : kSizes) {
    const reference::Problem2d image = random_image(random, height, width, 1);
    const LineLams lams(random, height, width, 0.5F);
    const std::vector<float> x(image.x.begin(), image.x.end());
    const reference::Problem2d weights = random_image(random, height, width, 1);
    const std::vector<float> g(weights.x.begin(), weights.x.end());
    const std::vector<double> wide_g(g.begin(), g.end());
    for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        const Problem2d problem = {.x = view(x.data(), {height, width}),
                                   .lam_rows = view(lams.rows.data(), {height, 1}),
                                   .lam_cols = view(lams.columns.data(), {1, width}),
                                   .mode = mode};
        std::vector<float> y(x.size());
        std::vector<double> momentum(kIterations);
        std::vector<std::uint32_t> partitions(
            static_cast<std::size_t>(saved_words2d(problem.x, kIterations)));
        ASSERT_TRUE(succeeds(prox_tv2d(problem, {.method = method, .iterations = kIterations},
                                       {.y = view(y.data(), {height, width}),
                                        .partitions = partitions,
                                        .momentum = momentum})));
        Solved2d solved = {.partitions = partitions, .iterations = kIterations, .mode = mode};
        if (method == Method2d::accelerated) solved.momentum = momentum;
        std::vector<float> grad_x(x.size()), grad_rows(lams.rows.size()),
            grad_columns(lams.columns.size());
        ASSERT_TRUE(
            succeeds(prox_tv2d_backward(solved, view(g.data(), {height, width}),
                                        {.x = view(grad_x.data(), {height, width}),
                                         .lam_rows = view(grad_rows.data(), {height, 1}),
                                         .lam_cols = view(grad_columns.data(), {1, width})})));
        std::vector<double> wide_x(x.size()), wide_rows(lams.rows.size()),
            wide_columns(lams.columns.size());
        ASSERT_TRUE(
            succeeds(prox_tv2d_backward(solved, view(wide_g.data(), {height, width}),
                                        {.x = view(wide_x.data(), {height, width}),
                                         .lam_rows = view(wide_rows.data(), {height, 1}),
                                         .lam_cols = view(wide_columns.data(), {1, width})})));
        const auto expect_near = [&](const std::vector<float>& found,
                                     const std::vector<double>& expected, const char* of) {
          for (std::size_t i = 0; i < found.size(); ++i) {
            ASSERT_NEAR(found[i], expected[i], 2e-5 * (1 + std::abs(expected[i])))
                << of << " " << i << " of " << height << " x " << width;
          }
        };
        expect_near(grad_x, wide_x, "x");
        expect_near(grad_rows, wide_rows, "lam_rows");
        expect_near(grad_columns, wide_columns, "lam_cols");
      }
    }
  }
}

TEST(Images, OfABatchAreOnTheirOwn) {
  Random random(base_seed());
  for (const auto& [height, width] : {std::pair{12, 20}, {40, 50}, {70, 90}}) {
    constexpr int kCount = 4;
    const auto pixels = static_cast<std::size_t>(height * width);
    std::vector<float> x;
    for (int i = 0; i < kCount; ++i) {
      const reference::Problem2d image = random_image(random, height, width, 1);
      x.insert(x.end(), image.x.begin(), image.x.end());
    }
    constexpr std::size_t kOdd = 1;     // has an infinite sample
    constexpr std::size_t kCopied = 2;  // has no lam
    x[kOdd * pixels + 5] = std::numeric_limits<float>::infinity();
    x[kCopied * pixels + 3] = -0.0F;
    x[kCopied * pixels + 7] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> lams = {0.5F, 0.5F, 0, 2};
    std::vector<float> y(x.size());
    for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
      const Problem2d problem = {.x = view(std::as_const(x).data(), {kCount, height, width}),
                                 .lam_rows = view(lams.data(), {kCount, 1, 1}),
                                 .lam_cols = view(lams.data(), {kCount, 1, 1})};
      std::vector<std::int32_t> iterations(kCount);
      ASSERT_TRUE(
          prox_tv2d(problem, {.method = method},
                    {.y = view(y.data(), {kCount, height, width}), .iterations = iterations})
              .ok());
      EXPECT_EQ(iterations[0], 4);
      EXPECT_EQ(iterations[kOdd], 0);
      for (std::size_t i = 0; i < pixels; ++i) {
        EXPECT_TRUE(std::isnan(y[kOdd * pixels + i]));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(y[kCopied * pixels + i]),
                  std::bit_cast<std::uint32_t>(x[kCopied * pixels + i]));
      }
      for (const std::size_t image : {std::size_t{0}, std::size_t{3}}) {
        std::vector<float> alone(pixels);
        const Problem2d one = {.x = view(std::as_const(x).data() + image * pixels, {height, width}),
                               .lam_rows = lams[image],
                               .lam_cols = lams[image]};
        ASSERT_TRUE(
            prox_tv2d(one, {.method = method}, {.y = view(alone.data(), {height, width})}).ok());
        for (std::size_t i = 0; i < pixels; ++i) EXPECT_EQ(alone[i], y[image * pixels + i]);
      }
    }
  }
}

/// The derivative of a weighted sum of the result, by differences on either side.
TEST(Images, HaveTheGradientOfTheirIterations) {
  Random random(base_seed());
  constexpr int kHeight = 6;
  constexpr int kWidth = 5;
  constexpr int kIterations = 5;
  for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
    for (const Mode mode : {Mode::smooth, Mode::sharp}) {
      reference::Problem2d image = random_image(random, kHeight, kWidth, 0.4);
      const reference::Problem2d weights = random_image(random, kHeight, kWidth, 1);
      const std::vector<double>& g = weights.x;
      std::vector<double> y(g.size()), momentum(kIterations);
      const auto problem = [&] {
        return Problem2d{
            .x = view(std::as_const(image.x).data(), {kHeight, kWidth}),
            .lam_rows = view(std::as_const(image.lam_rows).data(), {kHeight, kWidth - 1}),
            .lam_cols = view(std::as_const(image.lam_cols).data(), {kHeight - 1, kWidth}),
            .mode = mode};
      };
      const Solver2d solver = {.method = method, .iterations = kIterations};
      const auto loss = [&] {
        EXPECT_TRUE(prox_tv2d(problem(), solver, {.y = view(y.data(), {kHeight, kWidth})}).ok());
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
        return sum;
      };
      std::vector<std::uint32_t> partitions(
          static_cast<std::size_t>(saved_words2d(problem().x, kIterations)));
      ASSERT_TRUE(succeeds(prox_tv2d(problem(), solver,
                                     {.y = view(y.data(), {kHeight, kWidth}),
                                      .partitions = partitions,
                                      .momentum = momentum})));
      reference::Problem2d found = {kHeight, kWidth, std::vector<double>(image.x.size()),
                                    std::vector<double>(image.lam_rows.size()),
                                    std::vector<double>(image.lam_cols.size())};
      const Status status = prox_tv2d_backward(
          {.partitions = partitions, .momentum = momentum, .iterations = kIterations, .mode = mode},
          view(g.data(), {kHeight, kWidth}),
          {.x = view(found.x.data(), {kHeight, kWidth}),
           .lam_rows = view(found.lam_rows.data(), {kHeight, kWidth - 1}),
           .lam_cols = view(found.lam_cols.data(), {kHeight - 1, kWidth})});
      ASSERT_TRUE(succeeds(status));
      const auto expect_differences = [&](std::vector<double>& values,
                                          const std::vector<double>& gradient, const char* of) {
        constexpr double kStep = 1e-6;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double value = values[i];
          values[i] = value + kStep;
          const double above = loss();
          values[i] = value - kStep;
          const double below = loss();
          values[i] = value;
          ASSERT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7) << of << " " << i;
        }
      };
      expect_differences(image.x, found.x, "x");
      expect_differences(image.lam_rows, found.lam_rows, "lam_rows");
      expect_differences(image.lam_cols, found.lam_cols, "lam_cols");
    }
  }
}

/// Near the solution the derivative of many iterations is that of the solution.
TEST(Images, HaveTheGradientOfTheSolution) {
  Random random(base_seed());
  constexpr int kHeight = 6;
  constexpr int kWidth = 5;
  constexpr int kIterations = 2000;
  const Solver2d solver = {.method = Method2d::accelerated,
                           .iterations = kIterations,
                           .derivative = Derivative2d::implicit};
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    reference::Problem2d image = random_image(random, kHeight, kWidth, 0.4);
    const std::vector<double> g = random_image(random, kHeight, kWidth, 1).x;
    std::vector<double> y(g.size());
    const auto problem = [&] {
      return Problem2d{
          .x = view(std::as_const(image.x).data(), {kHeight, kWidth}),
          .lam_rows = view(std::as_const(image.lam_rows).data(), {kHeight, kWidth - 1}),
          .lam_cols = view(std::as_const(image.lam_cols).data(), {kHeight - 1, kWidth}),
          .mode = mode};
    };
    const auto loss = [&] {
      EXPECT_TRUE(prox_tv2d(problem(), solver, {.y = view(y.data(), {kHeight, kWidth})}).ok());
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
      return sum;
    };
    std::vector<std::uint32_t> last(static_cast<std::size_t>(saved_words2d(problem().x, 1)));
    ASSERT_TRUE(
        prox_tv2d(problem(), solver, {.y = view(y.data(), {kHeight, kWidth}), .partitions = last})
            .ok());
    std::vector<double> grad_x(g.size()), grad_rows(kHeight), grad_edges((kHeight - 1) * kWidth);
    const Status status =
        prox_tv2d_backward({.partitions = last, .derivative = Derivative2d::implicit, .mode = mode},
                           view(g.data(), {kHeight, kWidth}),
                           {.x = view(grad_x.data(), {kHeight, kWidth}),
                            .lam_rows = view(grad_rows.data(), {kHeight, 1}),
                            .lam_cols = view(grad_edges.data(), {kHeight - 1, kWidth})});
    ASSERT_TRUE(succeeds(status));
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < g.size(); ++i) {
      const double value = image.x[i];
      image.x[i] = value + kStep;
      const double above = loss();
      image.x[i] = value - kStep;
      const double below = loss();
      image.x[i] = value;
      ASSERT_NEAR(grad_x[i], (above - below) / (2 * kStep), 1e-6) << "x " << i;
    }
    // All edges of a row at once.
    for (std::size_t r = 0; r < kHeight; ++r) {
      const auto loss_beside = [&](double step) {
        for (std::size_t e = 0; e + 1 < kWidth; ++e) image.lam_rows[r * (kWidth - 1) + e] += step;
        const double result = loss();
        for (std::size_t e = 0; e + 1 < kWidth; ++e) image.lam_rows[r * (kWidth - 1) + e] -= step;
        return result;
      };
      const double slope = (loss_beside(kStep) - loss_beside(-kStep)) / (2 * kStep);
      ASSERT_NEAR(grad_rows[r], slope, 1e-6) << "lam_rows of row " << r;
    }
    for (std::size_t i = 0; i < grad_edges.size(); ++i) {
      const double value = image.lam_cols[i];
      image.lam_cols[i] = value + kStep;
      const double above = loss();
      image.lam_cols[i] = value - kStep;
      const double below = loss();
      image.lam_cols[i] = value;
      ASSERT_NEAR(grad_edges[i], (above - below) / (2 * kStep), 1e-6) << "lam_cols " << i;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
