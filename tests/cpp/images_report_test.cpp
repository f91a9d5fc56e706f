// What Results2d says of a result: its objective, and whether its gap is within the tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/images.h"
#include "support/rows.h"
#include "support/solve.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

constexpr DType kDTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr std::int64_t kHeight = 14, kWidth = 11, kPixels = kHeight * kWidth;

/// A batch of one image that is solved, one that is copied (lam 0) and one that is not finite.
struct ReportedImages {
  ReportedImages(Random& random, DType dtype, Mode mode, const Solver2d& solver)
      : batch(random_images(random, 3, kHeight, kWidth, 0.3)),
        x(dtype, samples()),
        y(dtype, std::size_t{3 * kPixels}) {
    Problem2d problem = batch.problem(mode);
    problem.x = x.view({3, kHeight, kWidth});
    const Status status = prox_tv2d(problem, solver,
                                    {.y = y.view({3, kHeight, kWidth}),
                                     .gap = gap,
                                     .objective = objective,
                                     .converged = converged});
    EXPECT_TRUE(status.ok()) << message(status);
  }

  /// Also sets the lams of the image that is copied.
  std::vector<double> samples() {
    const std::int64_t row_edges = kHeight * (kWidth - 1), column_edges = (kHeight - 1) * kWidth;
    std::fill_n(batch.lam_rows.begin() + row_edges, row_edges, 0.0);
    std::fill_n(batch.lam_cols.begin() + column_edges, column_edges, 0.0);
    std::vector<double> values = batch.x;
    values[2 * kPixels + 5] = std::numeric_limits<double>::infinity();
    return values;
  }

  ImageBatch batch;
  Array x;
  Array y;
  std::vector<double> gap = std::vector<double>(3, -7);
  std::vector<double> objective = std::vector<double>(3, -7);
  std::vector<std::uint8_t> converged = std::vector<std::uint8_t>(3, 7);
};

TEST(ImagesReport, HasTheObjectiveOfWhatIsReturned) {
  Random random(base_seed());
  for (int round = 0; round < 48; ++round) {
    const DType dtype = kDTypes[round % 4];
    const Mode mode = round % 3 == 0 ? Mode::sharp : Mode::smooth;
    const ReportedImages images(random, dtype, mode, {.iterations = 1 + round % 7});
    std::vector<double> smooth = images.y.values();
    const std::vector<double> x = images.x.values();
    if (mode == Mode::sharp) {
      for (std::size_t i = 0; i < smooth.size(); ++i) smooth[i] = x[i] - (smooth[i] - x[i]);
    }
    reference::Problem2d image = images.batch.image(0);
    image.x.assign(x.begin(), x.begin() + kPixels);
    smooth.resize(kPixels);
    const double expected = reference::objective(image, smooth);
    const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-5;
    EXPECT_NEAR(images.objective[0], expected, tolerance * expected) << dtype_name(dtype);
  }
}

TEST(ImagesReport, SaysWhichImagesHaveConverged) {
  Random random(base_seed());
  int converged = 0;
  for (int round = 0; round < 48; ++round) {
    const DType dtype = kDTypes[round % 4];
    const Mode mode = round % 3 == 0 ? Mode::sharp : Mode::smooth;
    const double tol = round % 2 == 0 ? 0 : 1e-3;
    const ReportedImages images(
        random, dtype, mode,
        {.method = Method2d::accelerated, .iterations = round % 5 == 0 ? 5 : 200, .tol = tol});
    const double held_to = tol > 0 ? tol : default_tolerance(dtype);
    const bool is_within = images.gap[0] <= held_to * images.objective[0];
    EXPECT_EQ(images.converged[0], is_within ? 1 : 0) << dtype_name(dtype);
    converged += images.converged[0];
    EXPECT_EQ(images.gap[1], 0);
    EXPECT_EQ(images.objective[1], 0);
    EXPECT_EQ(images.converged[1], 1) << "copied: its own optimum";
    EXPECT_TRUE(std::isnan(images.gap[2]) && std::isnan(images.objective[2]));
    EXPECT_EQ(images.converged[2], 0) << "not finite";
  }
  EXPECT_GT(converged, 8);
  EXPECT_LT(converged, 40);
}

TEST(ImagesReport, IsTheSameWhicheverPartOfItIsWanted) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 2, kHeight, kWidth, 0.3);
  std::vector<double> y(batch.x.size());
  const Solver2d solver = {.method = Method2d::accelerated, .iterations = 40, .tol = 1e-4};
  const View result = view(y.data(), {2, kHeight, kWidth});
  std::vector<double> gap(2), objective(2), alone(2);
  std::vector<std::uint8_t> converged(2, 7), flags(2, 7);
  const Results2d all = {.y = result, .gap = gap, .objective = objective, .converged = converged};
  ASSERT_TRUE(prox_tv2d(batch.problem(), solver, all).ok());
  ASSERT_TRUE(prox_tv2d(batch.problem(), solver, {.y = result, .objective = alone}).ok());
  EXPECT_EQ(alone, objective);
  ASSERT_TRUE(prox_tv2d(batch.problem(), solver, {.y = result, .converged = flags}).ok());
  EXPECT_EQ(flags, converged);
}

TEST(ImagesReport, OfImagesWithoutPixelsIsThatOfSolvedOnes) {
  std::vector<double> nothing;
  std::vector<double> gap(2, -7), objective(2, -7);
  std::vector<std::uint8_t> converged(2, 7);
  const View empty = view(nothing.data(), {2, 0, 3});
  const Results2d results = {
      .y = empty, .gap = gap, .objective = objective, .converged = converged};
  ASSERT_TRUE(prox_tv2d({.x = empty, .lam_rows = 1.0, .lam_cols = 1.0}, {}, results).ok());
  EXPECT_EQ(gap, (std::vector<double>{0, 0}));
  EXPECT_EQ(objective, (std::vector<double>{0, 0}));
  EXPECT_EQ(converged, (std::vector<std::uint8_t>{1, 1}));
}

}  // namespace
}  // namespace tautstring::testing
