// gap2d is never less than the true distance of an image's objective from the optimum, for any
// image and any dual variables, and not much more if the dual variables are good.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "support/images.h"
#include "support/integer_images.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

using reference::IntegerProblem2d;

constexpr DType kDTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The gap of one image with one lam per edge; `dual` may be empty.
double gap_of(const IntegerProblem2d& p, const std::vector<double>& y,
              const std::vector<double>& dual = {}, DType x_dtype = DType::float64,
              DType y_dtype = DType::float64) {
  const std::vector<double> lam_rows = as_doubles(p.lam_rows);
  const std::vector<double> lam_cols = as_doubles(p.lam_cols);
  Array x_array(x_dtype, as_doubles(p.x)), y_array(y_dtype, y);
  std::vector<double> gap(1, -7);
  const Status status =
      gap2d({.x = x_array.view({p.height, p.width}),
             .lam_rows = view(lam_rows.data(), {p.height, p.width - 1}),
             .lam_cols = view(lam_cols.data(), {p.height - 1, p.width})},
            {.y = y_array.view({p.height, p.width}),
             .dual = dual.empty() ? ConstView{} : view(dual.data(), {p.height, p.width})},
            gap);
  EXPECT_TRUE(status.ok()) << message(status);
  return gap[0];
}

double gap_of(const Problem2d& problem, const Candidate2d& candidate) {
  std::vector<double> gap(1, -7);
  const Status status = gap2d(problem, candidate, gap);
  EXPECT_TRUE(status.ok()) << message(status);
  return gap[0];
}

/// The part of x - y that belongs to the columns, exact.
std::vector<double> exact_dual(const IntegerProblem2d& p) {
  const reference::ExactSolution2d solution = reference::prox_tv2d(p);
  std::vector<double> dual(p.x.size());
  for (std::size_t i = 0; i < dual.size(); ++i) {
    const auto width = static_cast<std::size_t>(p.width);
    const double above = i >= width ? solution.v[i - width] : 0;
    const double below = i + width < dual.size() ? solution.v[i] : 0;
    dual[i] = above - below;
  }
  return dual;
}

/// Candidates from an unrelated image to the optimum plus noise.
std::vector<double> random_candidate(Random& random, const IntegerImage& image) {
  std::vector<double> y = image.optimum;
  const double size = std::pow(10.0, std::uniform_real_distribution<double>(-9, 3)(random));
  for (double& value : y) value += std::normal_distribution<double>(0, size)(random);
  if (random() % 4 == 0) y = as_doubles(image.problem.x);
  if (random() % 8 == 0) y.assign(y.size(), 0);
  return y;
}

TEST(ImagesGap, IsNotLessThanTheExcess) {
  Random random(base_seed());
  for (int round = 0; round < 400; ++round) {
    const IntegerImage image =
        random_image(random, round % 16 == 1 ? 100 : 24, round % 4 == 0 ? 1 << 20 : 0);
    const IntegerProblem2d& p = image.problem;
    const long double optimum = objective(p, image.optimum);
    const std::vector<double> y = random_candidate(random, image);
    const long double at_y = objective(p, y);
    const double excess = static_cast<double>(at_y - optimum);
    const double rounding = static_cast<double>(at_y) * 1e-14;
    std::vector<double> nonsense(p.x.size());
    const double size = std::pow(10.0, std::uniform_real_distribution<double>(-3, 30)(random));
    for (double& value : nonsense) value = std::normal_distribution<double>(0, size)(random);
    const double unaided = gap_of(p, y);
    ASSERT_GE(unaided, excess - rounding) << "round " << round;
    ASSERT_LE(unaided, 1.01 * excess + 1e-3 * static_cast<double>(optimum)) << "round " << round;
    ASSERT_GE(gap_of(p, y, nonsense), excess - rounding) << "round " << round;
    // With the optimal dual variables the gap equals the excess.
    const double best = gap_of(p, y, exact_dual(p));
    ASSERT_GE(best, excess - rounding) << "round " << round;
    ASSERT_LE(best, excess + rounding) << "round " << round;
  }
}

TEST(ImagesGap, OfTheOptimumIsRounding) {
  Random random(base_seed());
  for (int round = 0; round < 200; ++round) {
    const IntegerImage image = random_image(random, 20);
    const double optimum = static_cast<double>(objective(image.problem, image.optimum));
    EXPECT_LE(gap_of(image.problem, image.optimum, exact_dual(image.problem)), 1e-14 * optimum);
    EXPECT_LE(gap_of(image.problem, image.optimum), 1e-4 * optimum);
  }
}

/// With a result and its dual as returned: the passes that gap2d repeats can only lower the gap.
TEST(ImagesGap, OfAResultIsNotMoreThanTheOneThatCameWithIt) {
  Random random(base_seed());
  for (int round = 0; round < 200; ++round) {
    const IntegerImage image = random_image(random, 24);
    const IntegerProblem2d& p = image.problem;
    const std::vector<double> lam_rows = as_doubles(p.lam_rows);
    const std::vector<double> lam_cols = as_doubles(p.lam_cols);
    const long double optimum = objective(p, image.optimum);
    for (const DType dtype : {DType::float32, DType::float64}) {
      Array x(dtype, as_doubles(p.x)), y(dtype, p.x.size()), dual(dtype, p.x.size());
      const Problem2d problem = {.x = x.view({p.height, p.width}),
                                 .lam_rows = view(lam_rows.data(), {p.height, p.width - 1}),
                                 .lam_cols = view(lam_cols.data(), {p.height - 1, p.width})};
      const Solver2d solver = {
          .method = random() % 2 == 0 ? Method2d::dykstra : Method2d::accelerated,
          .iterations = 1 + static_cast<int>(random() % 40),
          .tol = random() % 2 == 0 ? 0 : 1e-6,
          .derivative = random() % 2 == 0 ? Derivative2d::implicit : Derivative2d::unrolled};
      std::vector<double> own(1);
      const Status status = prox_tv2d(
          problem, solver,
          {.y = y.view({p.height, p.width}), .dual = dual.view({p.height, p.width}), .gap = own});
      ASSERT_TRUE(status.ok()) << message(status);
      const double gap = gap_of(
          problem, {.y = y.view({p.height, p.width}), .dual = dual.view({p.height, p.width})});
      const long double at_y = objective(p, y.values());
      const double rounding = static_cast<double>(at_y) * 1e-14;
      ASSERT_LE(gap, own[0] + rounding) << "round " << round << ", " << dtype_name(dtype);
      ASSERT_GE(gap, static_cast<double>(at_y - optimum) - rounding) << "round " << round;
    }
  }
}

/// The gap that comes with a result is of that result, as it is stored: in a small type, with an
/// offset, and of the smooth image that a sharpened one stands for.
TEST(ImagesGap, ThatComesWithAResultIsOfWhatIsReturned) {
  Random random(base_seed());
  constexpr std::int64_t kHeight = 20, kWidth = 17;
  const Sizes sizes = {kHeight, kWidth};
  for (int round = 0; round < 120; ++round) {
    const DType dtype = kDTypes[round % 4];
    const Mode mode = round % 3 == 0 ? Mode::sharp : Mode::smooth;
    const double offset = round % 5 == 0 ? 100 : round % 5 == 1 ? -3 : 0;
    std::vector<double> samples(kHeight * kWidth);
    std::uniform_real_distribution<double> uniform(offset, offset + 1);
    for (double& value : samples) value = uniform(random);
    Array x(dtype, samples), y(dtype, samples.size());
    Array dual(dtype == DType::float64 ? dtype : DType::float32, samples.size());
    const double lam = std::pow(10.0, std::uniform_real_distribution<double>(-2, -0.5)(random));
    const Solver2d solver = {
        .method = Method2d::accelerated,
        .iterations = 100,
        .tol = 1e-4,
        .derivative = random() % 2 == 0 ? Derivative2d::implicit : Derivative2d::unrolled};
    std::vector<double> gap(1);
    const Problem2d problem = {
        .x = x.view({kHeight, kWidth}), .lam_rows = lam, .lam_cols = lam, .mode = mode};
    const Status status = prox_tv2d(
        problem, solver,
        {.y = y.view({kHeight, kWidth}), .dual = dual.view({kHeight, kWidth}), .gap = gap});
    ASSERT_TRUE(status.ok()) << message(status);
    std::vector<double> smooth = y.values();
    const std::vector<double> own = x.values();
    for (std::size_t i = 0; mode == Mode::sharp && i < own.size(); ++i) {
      smooth[i] = own[i] - (smooth[i] - own[i]);
    }
    const Problem2d of_smooth = {.x = x.view({kHeight, kWidth}), .lam_rows = lam, .lam_cols = lam};
    const double best = gap_of(of_smooth, {.y = view(smooth.data(), sizes)});
    reference::Problem2d image = {kHeight, kWidth, own,
                                  std::vector<double>(kHeight * (kWidth - 1), lam),
                                  std::vector<double>((kHeight - 1) * kWidth, lam)};
    const double objective = reference::objective(image, smooth);
    SCOPED_TRACE(dtype_name(dtype) + ", round " + std::to_string(round));
    // gap2d alone is at most 1 % above the excess, and the dual here lacks less than the tolerance.
    ASSERT_GE(gap[0], 0.98 * best - 1e-7 * objective);
    ASSERT_LE(gap[0], best + 2e-4 * objective);
    ASSERT_LE(
        gap_of(of_smooth, {.y = view(smooth.data(), sizes), .dual = dual.view({kHeight, kWidth})}),
        gap[0] + 1e-7 * objective);
  }
}

/// What a dual is made into is what the first iteration from there holds, to the last bit.
TEST(ImagesGap, WithADualItIsThatOfOneIteration) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 3, 14, 11, 0.5);
  const Sizes sizes = {3, 14, 11};
  const std::vector<double> dual = SolvedImagesCall(batch, {.iterations = 3}).dual;
  const SolvedImagesCall next(batch, {.iterations = 1, .start = view(dual.data(), sizes)});
  std::vector<double> gap(3);
  const Candidate2d candidate = {.y = view(next.y.data(), sizes), .dual = view(dual.data(), sizes)};
  ASSERT_TRUE(gap2d(batch.problem(), candidate, gap).ok());
  EXPECT_EQ(gap, next.gap);
}

TEST(ImagesGap, DtypesOfXAndYMayDiffer) {
  Random random(base_seed());
  for (int round = 0; round < 20; ++round) {
    const IntegerImage image = random_image(random, 16);  // integers, exact in every type
    const long double optimum = objective(image.problem, image.optimum);
    for (const DType y_dtype : kDTypes) {
      const std::vector<double> y = Array(y_dtype, image.optimum).values();
      const double expected = gap_of(image.problem, y);
      ASSERT_GE(expected,
                static_cast<double>(objective(image.problem, y) - optimum - optimum * 1e-14L));
      for (const DType x_dtype : kDTypes) {
        ASSERT_EQ(gap_of(image.problem, image.optimum, {}, x_dtype, y_dtype), expected)
            << dtype_name(x_dtype) << ", " << dtype_name(y_dtype);
      }
    }
  }
}

TEST(ImagesGap, SeesStridesAndBatchesAsTheyAre) {
  Random random(base_seed());
  constexpr std::int64_t kCount = 3, kHeight = 7, kWidth = 12;
  const ImageBatch batch = random_images(random, kCount, kHeight, kWidth, 0.4);
  const SolvedImagesCall solved(batch, {.iterations = 3});
  std::vector<double> expected(kCount), gap(kCount);
  const Sizes sizes = {kCount, kHeight, kWidth};
  const Candidate2d candidate = {.y = view(solved.y.data(), sizes),
                                 .dual = view(solved.dual.data(), sizes)};
  ASSERT_TRUE(gap2d(batch.problem(), candidate, expected).ok());
  // Each array has its own layout: columns contiguous, batch last, reversed.
  const auto turned = [&](const std::vector<double>& values, std::int64_t height,
                          std::int64_t width, const Sizes& strides, std::int64_t first) {
    std::vector<double> memory(values.size());
    std::size_t i = 0;
    for (std::int64_t image = 0; image < kCount; ++image) {
      for (std::int64_t r = 0; r < height; ++r) {
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t at = first + image * strides[0] + r * strides[1] + c * strides[2];
          memory[static_cast<std::size_t>(at)] = values[i++];
        }
      }
    }
    return memory;
  };
  constexpr std::int64_t kPixels = kHeight * kWidth;
  const auto x = turned(batch.x, kHeight, kWidth, {kPixels, 1, kHeight}, 0);
  const auto y = turned(solved.y, kHeight, kWidth, {1, kWidth * kCount, kCount}, 0);
  const auto dual =
      turned(solved.dual, kHeight, kWidth, {-kPixels, -kWidth, -1}, kCount * kPixels - 1);
  const auto lam_rows =
      turned(batch.lam_rows, kHeight, kWidth - 1, {kHeight * (kWidth - 1), 1, kHeight}, 0);
  const auto lam_cols =
      turned(batch.lam_cols, kHeight - 1, kWidth, {1, kWidth * kCount, kCount}, 0);
  const Status status =
      gap2d({.x = view(x.data(), sizes, {kPixels, 1, kHeight}),
             .lam_rows = view(lam_rows.data(), {kCount, kHeight, kWidth - 1},
                              {kHeight * (kWidth - 1), 1, kHeight}),
             .lam_cols = view(lam_cols.data(), {kCount, kHeight - 1, kWidth},
                              {1, kWidth * kCount, kCount})},
            {.y = view(y.data(), sizes, {1, kWidth * kCount, kCount}),
             .dual = view(dual.data() + kCount * kPixels - 1, sizes, {-kPixels, -kWidth, -1})},
            gap);
  ASSERT_TRUE(status.ok()) << message(status);
  EXPECT_EQ(gap, expected);
}

/// Height and width by name, and lams that are broadcast.
TEST(ImagesGap, DimsAndSharedLams) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 4, 6, 5, 1);
  const std::vector<double> y = random_images(random, 4, 6, 5, 1).x;
  const std::vector<double> lam = {0.2, 0.4, 0.6, 0.8};
  std::vector<double> gap(4);
  // Batch in the middle: (6, 4, 5).
  ASSERT_TRUE(gap2d({.x = view(batch.x.data(), {6, 4, 5}),
                     .lam_rows = view(lam.data(), {1, 4, 1}),
                     .lam_cols = 0.3,
                     .height_dim = 0,
                     .width_dim = 2},
                    {.y = view(y.data(), {6, 4, 5})}, gap)
                  .ok());
  for (std::int64_t i = 0; i < 4; ++i) {
    const Problem2d alone = {.x = view(batch.x.data() + 5 * i, {6, 5}, {20, 1}),
                             .lam_rows = lam[static_cast<std::size_t>(i)],
                             .lam_cols = 0.3};
    EXPECT_EQ(gap_of(alone, {.y = view(y.data() + 5 * i, {6, 5}, {20, 1})}),
              gap[static_cast<std::size_t>(i)]);
  }
}

TEST(ImagesGap, WithoutLamsIsHalfTheSquareOfTheChange) {
  Random random(base_seed());
  const std::vector<double> x = random_images(random, 1, 5, 8, 1).x;
  const std::vector<double> y = random_images(random, 1, 5, 8, 1).x;
  double expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) expected += (y[i] - x[i]) * (y[i] - x[i]) / 2;
  const ConstView samples = view(x.data(), {5, 8});
  EXPECT_NEAR(gap_of({.x = samples}, {.y = view(y.data(), {5, 8})}), expected, 1e-12);
  EXPECT_NEAR(gap_of({.x = samples}, {.y = view(y.data(), {5, 8}), .dual = samples}), expected,
              1e-12);
  EXPECT_EQ(gap_of({.x = samples}, {.y = samples}), 0);
}

TEST(ImagesGap, WhereEdgesMayNotJump) {
  const std::vector<double> x = {1, 2, 3, 6}, mean(4, 3), other = {3, 3, 3, 4};
  const Problem2d problem = {
      .x = view(x.data(), {2, 2}), .lam_rows = kInfinity, .lam_cols = kInfinity};
  EXPECT_EQ(gap_of(problem, {.y = view(mean.data(), {2, 2})}), 0);
  EXPECT_EQ(gap_of(problem, {.y = view(other.data(), {2, 2})}), kInfinity);
}

TEST(ImagesGap, BadSamplesMakeNanOfTheirImageAlone) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 4, 5, 6, 0.5);
  std::vector<double> expected(4), gap(4);
  const ConstView good = batch.problem().x;
  ASSERT_TRUE(gap2d(batch.problem(), {.y = good}, expected).ok());
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    ImageBatch spoiled = batch;
    std::vector<double> y = batch.x;
    spoiled.x[batch.pixels() + 3] = bad;
    y[2 * batch.pixels() + 4] = bad;
    ASSERT_TRUE(gap2d(spoiled.problem(), {.y = view(y.data(), {4, 5, 6})}, gap).ok());
    EXPECT_EQ(gap[0], expected[0]);
    EXPECT_TRUE(std::isnan(gap[1]));
    EXPECT_TRUE(std::isnan(gap[2]));
    EXPECT_EQ(gap[3], expected[3]);
    // Also for images that prox_tv2d copies.
    EXPECT_TRUE(std::isnan(gap_of({.x = view(spoiled.x.data() + batch.pixels(), {5, 6})},
                                  {.y = view(spoiled.x.data() + batch.pixels(), {5, 6})})));
  }
}

TEST(ImagesGap, ADualThatIsNotFiniteIsTakenForZero) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 3, 5, 6, 0.5);
  std::vector<double> expected(3), gap(3), dual(batch.x.size());
  const ConstView dual_view = view(dual.data(), {3, 5, 6});
  const Candidate2d candidate = {.y = batch.problem().x, .dual = dual_view};
  ASSERT_TRUE(gap2d(batch.problem(), candidate, expected).ok());
  dual[batch.pixels()] = kNan;
  dual[2 * batch.pixels()] = -kInfinity;
  dual[2 * batch.pixels() + 1] = 7;
  ASSERT_TRUE(gap2d(batch.problem(), candidate, gap).ok());
  EXPECT_EQ(gap, expected);
}

/// All magnitudes of float64: a bound that overflows is infinite, but never NaN.
TEST(ImagesGap, NumbersOfAnySize) {
  constexpr double kHuge = 1.7e308;
  for (const double x_size : {0.0, 1e-300, 1.0, kHuge}) {
    for (const double y_size : {0.0, 1e-300, 1.0, kHuge}) {
      for (const double dual_size : {0.0, 1e-300, 1.0, kHuge}) {
        for (const double lam : {0.0, 1e-300, 1.0, kHuge, kInfinity}) {
          const std::vector<double> x = {x_size, -x_size, x_size, 0};
          const std::vector<double> y = {-y_size, y_size, 0, y_size};
          const std::vector<double> dual = {-dual_size, dual_size, dual_size, -dual_size};
          const Problem2d problem = {.x = view(x.data(), {2, 2}), .lam_rows = lam, .lam_cols = lam};
          for (const ConstView& given : {ConstView{}, ConstView(view(dual.data(), {2, 2}))}) {
            ASSERT_GE(gap_of(problem, {.y = view(y.data(), {2, 2}), .dual = given}), 0)
                << x_size << ", " << y_size << ", " << dual_size << ", " << lam;
          }
        }
      }
    }
  }
}

TEST(ImagesGap, FollowsTheScaleOfTheData) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 1, 9, 7, 0.5);
  const std::vector<double> y = random_images(random, 1, 9, 7, 1).x;
  const double expected = gap_of(batch.problem(), {.y = view(y.data(), {1, 9, 7})});
  for (const double scale : {0x1p-400, 0x1p-20, 0x1p300}) {
    ImageBatch scaled = batch;
    for (auto* values : {&scaled.x, &scaled.lam_rows, &scaled.lam_cols}) {
      for (double& value : *values) value *= scale;
    }
    std::vector<double> scaled_y = y;
    for (double& value : scaled_y) value *= scale;
    EXPECT_EQ(gap_of(scaled.problem(), {.y = view(scaled_y.data(), {1, 9, 7})}),
              expected * scale * scale);
  }
}

TEST(ImagesGap, OfImagesWithoutPixelsIsZero) {
  double nothing = 0;
  const Sizes shapes[] = {{2, 0, 3}, {2, 3, 0}};
  for (const Sizes& shape : shapes) {
    std::vector<double> gap(2, -7);
    const ConstView none = view(static_cast<const double*>(&nothing), shape);
    const Status status = gap2d({.x = none, .lam_rows = 1.0}, {.y = none}, gap);
    ASSERT_TRUE(status.ok()) << message(status);
    EXPECT_EQ(gap, (std::vector<double>{0, 0}));
  }
  const ConstView none = view(static_cast<const double*>(&nothing), {0, 3, 4});
  EXPECT_TRUE(gap2d({.x = none, .lam_rows = 1.0}, {.y = none}, {}).ok());
  const std::vector<double> one = {5}, other = {7};
  EXPECT_EQ(gap_of({.x = view(one.data(), {1, 1}), .lam_rows = 1.0, .lam_cols = 1.0},
                   {.y = view(other.data(), {1, 1})}),
            2);
}

TEST(ImagesGap, DependsNeitherOnThreadsNorOnWhoseMemory) {
  Random random(base_seed());
  for (const std::int64_t count : {1, 5}) {
    const ImageBatch batch = random_images(random, count, 200, 190, 0.5);
    const Candidate2d candidate = {.y = batch.problem().x};
    std::vector<double> expected(static_cast<std::size_t>(count)), gap = expected;
    ASSERT_TRUE(gap2d(batch.problem(), candidate, expected).ok());
    ThreadExecutor executor(3);
    Context context = {.executor = &executor};
    ASSERT_TRUE(gap2d(batch.problem(), candidate, gap, context).ok());
    EXPECT_EQ(gap, expected);
    std::size_t bytes = 0;
    ASSERT_TRUE(prox_tv2d_workspace(batch.problem(), context, bytes).ok());
    std::vector<std::byte> memory(bytes + 64);
    context.workspace = memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
    context.workspace_size = bytes;
    ASSERT_TRUE(gap2d(batch.problem(), candidate, gap, context).ok());
    EXPECT_EQ(gap, expected);
  }
}

TEST(ImagesGap, BadArgumentsAreNamedAndNothingIsWritten) {
  std::vector<float> x(24, 1), y(24, 1), dual(24), lam_rows(18, 1);
  std::vector<double> gap(2, -7);
  const Problem2d good = {.x = view(x.data(), {2, 3, 4}),
                          .lam_rows = view(lam_rows.data(), {2, 3, 3}),
                          .lam_cols = 1.0};
  const Candidate2d candidate = {.y = view(y.data(), {2, 3, 4}),
                                 .dual = view(dual.data(), {2, 3, 4})};
  const auto told = [&](const Problem2d& problem, const Candidate2d& other, std::span<double> out) {
    const Status status = gap2d(problem, other, out);
    EXPECT_EQ(status.code, StatusCode::invalid_argument);
    EXPECT_EQ(gap, (std::vector<double>{-7, -7}));
    return message(status);
  };
  const auto with = [](auto value, const auto& change) {
    change(value);
    return value;
  };
  EXPECT_EQ(told(with(good, [](Problem2d& p) { p.mode = Mode::sharp; }), candidate, gap),
            "mode: must be Mode::smooth, got 1");
  EXPECT_EQ(told(with(good, [](Problem2d& p) { p.lam_cols = -2.0; }), candidate, gap),
            "lam_cols: must be >= 0 and not NaN, got -2");
  EXPECT_EQ(told(with(good, [](Problem2d& p) { p.width_dim = 1; }), candidate, gap),
            "width_dim: must not be height_dim, got 1");
  EXPECT_EQ(told(good, candidate, std::span(gap).first(1)),
            "gap: must have one element per image, got 1");
  EXPECT_EQ(told(good, candidate, {reinterpret_cast<double*>(y.data()), 2}),
            "gap: must not share memory with another argument");
  EXPECT_EQ(told(good, candidate, {reinterpret_cast<double*>(dual.data()), 2}),
            "gap: must not share memory with another argument");
  EXPECT_TRUE(told(good, {}, gap).starts_with("y: "));
  EXPECT_TRUE(told(good,
                   with(candidate,
                        [&](Candidate2d& c) {
                          c.y = view(y.data(), {2, 3, 3});
                        }),
                   gap)
                  .starts_with("y: "));
  EXPECT_TRUE(told(good,
                   with(candidate,
                        [&](Candidate2d& c) {
                          c.dual = view(dual.data(), {1, 3, 4});
                        }),
                   gap)
                  .starts_with("dual: "));
  EXPECT_TRUE(told(with(good, [](Problem2d& p) { p.x = {}; }), candidate, gap).starts_with("x: "));
}

TEST(ImagesGap, ABadValueIsFoundAtItsPlaceInTheArgument) {
  const std::vector<float> x(24, 1);
  std::vector<float> lam_rows(18, 1);
  lam_rows[17] = -1;
  std::vector<double> gap(2, -7);
  const Status status = gap2d({.x = view(x.data(), {2, 3, 4}),
                               .lam_rows = view(std::as_const(lam_rows).data(), {2, 3, 3}),
                               .lam_cols = 1.0},
                              {.y = view(x.data(), {2, 3, 4})}, gap);
  EXPECT_EQ(message(status), "lam_rows: must be >= 0 and not NaN, got -1 at index 17");
  EXPECT_EQ(gap, (std::vector<double>{-7, -7}));
}

}  // namespace
}  // namespace tautstring::testing
