// 2D: the iterations against their oracle, the gap, batches and layouts.
#include <gtest/gtest.h>

#include "reference/tv2d_iterations.h"
#include "support/rows.h"
#include "tautline/tautline.h"

namespace tautline::testing {
namespace {

reference::Problem2d random_image(Random& random, std::int32_t height, std::int32_t width,
                                  double lam) {
  reference::Problem2d problem = {height, width, {}, {}, {}};
  std::normal_distribution<double> noise;
  std::uniform_real_distribution<double> part(0.5, 1.5);
  for (std::int32_t i = 0; i < height * width; ++i) problem.x.push_back(noise(random));
  for (std::int32_t i = 0; i < height * (width - 1); ++i) {
    problem.row_lam.push_back(lam * part(random));
  }
  for (std::int32_t i = 0; i < (height - 1) * width; ++i) {
    problem.column_lam.push_back(lam * part(random));
  }
  return problem;
}

TEST(Images, HaveTheIteratesOfTheOracle) {
  Random random(base_seed());
  for (const auto& [height, width] :
       {std::pair{7, 12}, {12, 7}, {1, 9}, {9, 1}, {1, 1}, {40, 33}}) {
    const reference::Problem2d image = random_image(random, height, width, 0.6);
    for (const bool accelerated : {false, true}) {
      for (const int iterations : {1, 2, 4, 9}) {
        const reference::Iterate2d expected = reference::iterate(
            image, accelerated ? reference::Method2d::accelerated : reference::Method2d::dykstra,
            iterations);
        std::vector<double> y(image.x.size()), gap(1);
        const Problem2d problem = {
            .x = view(image.x.data(), {height, width}),
            .row_lam = view(image.row_lam.data(), {height, width - 1}),
            .column_lam = view(image.column_lam.data(), {height - 1, width})};
        const Status status =
            prox_tv2d(problem,
                      {.method = accelerated ? Method2d::accelerated : Method2d::dykstra,
                       .iterations = iterations},
                      view(y.data(), {height, width}), {.gap = gap});
        ASSERT_TRUE(status.ok()) << status.argument;
        for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(y[i], expected.y[i], 1e-10);
        const double expected_gap = reference::duality_gap(image, expected);
        EXPECT_NEAR(gap[0], expected_gap, 1e-9 * (1 + expected_gap));
      }
    }
  }
}

}  // namespace
}  // namespace tautline::testing
