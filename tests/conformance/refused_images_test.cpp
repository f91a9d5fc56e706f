// If the backend cannot return errors about values, a bad lam makes its image NaN, with a partition
// of one segment per line; the bits of other images do not change.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/images.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kCount = 3;
constexpr std::int64_t kBad = 1;  // the image
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Both kinds of lams, among good ones; with one iteration, where a bad lam can affect few pixels
/// by itself, and with many.
TEST(ImagesRefused, ABadLamMakesItsImageNanAndNoOther) {
  Random random(base_seed());
  const ImageBatch good = random_images(random, kCount, 7, 40, 0.5);
  const std::vector<double> g = random_images(random, kCount, 7, 40, 1).x;
  const Solver2d solvers[] = {{.iterations = 1},
                              {.method = Method2d::accelerated, .iterations = 40, .tol = 1e-3},
                              {.method = Method2d::accelerated,
                               .iterations = 40,
                               .tol = 1e-3,
                               .derivative = Derivative2d::implicit}};
  for (const Solver2d& solver : solvers) {
    const SolvedImagesCall expected(good, solver);
    const ImageBatch expected_gradient = expected.backward(g);
    for (const double value : {-1.0, kNan}) {
      for (const bool of_rows : {true, false}) {
        ImageBatch bad = good;
        std::vector<double>& lams = of_rows ? bad.lam_rows : bad.lam_cols;
        lams[lams.size() / kCount * kBad + 30] = value;
        const SolvedImagesCall call(bad, solver);
        const ImageBatch gradient = call.backward(g);
        const std::span image_g = std::span(g).subspan(kBad * good.pixels(), good.pixels());
        const double mean = std::accumulate(image_g.begin(), image_g.end(), 0.0) /
                            static_cast<double>(good.pixels());
        for (std::size_t i = 0; i < g.size(); ++i) {
          if (i / good.pixels() == kBad) {
            ASSERT_TRUE(std::isnan(call.y[i]));
            ASSERT_TRUE(std::isnan(call.dual[i]));
            ASSERT_NEAR(gradient.x[i], mean, 1e-14);
          } else {
            ASSERT_EQ(call.y[i], expected.y[i]);
            ASSERT_EQ(call.dual[i], expected.dual[i]);
            ASSERT_EQ(gradient.x[i], expected_gradient.x[i]);
          }
        }
        std::vector<double> gap(kCount);  // of the good solutions
        const ConstView y = view(expected.y.data(), {kCount, good.height, good.width});
        ASSERT_TRUE(gap2d(bad.problem(), {.y = y}, gap).ok());
        for (std::size_t image = 0; image < kCount; ++image) {
          EXPECT_EQ(std::isnan(gap[image]), image == kBad);
          EXPECT_EQ(std::isnan(call.gap[image]), image == kBad);
          EXPECT_EQ(call.iterations[image], image == kBad ? 0 : expected.iterations[image]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
