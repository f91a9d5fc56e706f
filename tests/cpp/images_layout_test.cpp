// 2D: every dtype, layout and form of lams; small and empty images; invalid samples; threads and
// the caller's workspace. All results are compared with the oracle of the iterations, image by
// image.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "support/images.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr DType kDTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// How far a result may be from the oracle's: a fraction of the image's range plus a unit in the
/// last place. float32 iterations accumulate the rounding of their passes.
double tolerance_of(DType dtype, double range, double largest) {
  return (dtype == DType::float64 ? 1e-12 : 4e-6) * range + unit_in_last_place(dtype, largest);
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 const std::vector<double>& x, DType dtype, const std::string& what) {
  const double range = range_of(x);
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance_of(dtype, range, largest))
        << what << ", " << dtype_name(dtype) << ", pixel " << i;
  }
}

/// Elements of an array in memory, laid out by strides.
struct Layout {
  const char* name;
  std::vector<std::int64_t> strides;
  std::int64_t first;
  std::int64_t memory;
};

constexpr std::int64_t kBatch = 2, kChannels = 3, kHeight = 7, kWidth = 19;
constexpr std::int64_t kElements = kBatch * kChannels * kHeight * kWidth;

const Layout kLayouts[] = {
    {"dense", {399, 133, 19, 1}, 0, kElements},
    {"channels last", {399, 1, 57, 3}, 0, kElements},
    {"columns together", {399, 133, 1, 7}, 0, kElements},
    {"batch last", {1, 266, 38, 2}, 0, kElements},
    {"upside down and mirrored", {399, 133, -19, -1}, 132, kElements},
    {"all backwards", {-399, -133, -19, -1}, kElements - 1, kElements},
    {"with gaps", {1700, 500, 50, 2}, 3, 3500},
};

std::int64_t place(const Layout& layout, std::int64_t index) {
  const std::int64_t shape[] = {kBatch, kChannels, kHeight, kWidth};
  std::int64_t at = layout.first;
  for (int d = 3; d >= 0; --d) {
    at += index % shape[d] * layout.strides[static_cast<std::size_t>(d)];
    index /= shape[d];
  }
  return at;
}

std::vector<double> noise(std::size_t size) {
  Random random(base_seed());
  std::vector<double> values(size);
  for (double& value : values) value = std::normal_distribution<double>()(random);
  return values;
}

/// An array of a dtype with a layout, and guards between its elements.
struct Placed {
  static constexpr double kGuard = -88;

  Placed(const Layout& layout_, DType dtype_, const std::vector<double>& values)
      : layout(layout_), dtype(dtype_), array(make(layout_, dtype_, values)) {}

  static Array make(const Layout& layout, DType dtype, const std::vector<double>& values) {
    std::vector<double> memory(static_cast<std::size_t>(layout.memory), kGuard);
    for (std::size_t i = 0; i < values.size(); ++i) {
      memory[static_cast<std::size_t>(place(layout, static_cast<std::int64_t>(i)))] = values[i];
    }
    return {dtype, memory};
  }
  [[nodiscard]] View view() {
    View whole = array.view();
    auto* first = static_cast<std::byte*>(whole.data) + layout.first * size_of(dtype);
    return tautstring::view(static_cast<void*>(first), dtype, {kBatch, kChannels, kHeight, kWidth},
                            layout.strides);
  }
  /// The values in order; expects the guards to be unchanged.
  [[nodiscard]] std::vector<double> values() const {
    std::vector<double> memory = array.values(), result(kElements);
    for (std::size_t i = 0; i < result.size(); ++i) {
      double& there = memory[static_cast<std::size_t>(place(layout, static_cast<std::int64_t>(i)))];
      result[i] = std::exchange(there, kGuard);
    }
    EXPECT_EQ(memory, std::vector<double>(memory.size(), kGuard)) << layout.name;
    return result;
  }

  Layout layout;
  DType dtype;
  Array array;
};

/// The oracle, image by image: lams by image, row and column of the pixel before the edge.
using LamOf = std::function<double(std::int64_t image, std::int64_t r, std::int64_t c)>;

std::vector<double> oracle(const std::vector<double>& x, std::int64_t count, std::int64_t height,
                           std::int64_t width, const LamOf& lam_rows, const LamOf& lam_cols,
                           int iterations = 4) {
  std::vector<double> y;
  for (std::int64_t image = 0; image < count; ++image) {
    reference::Problem2d problem = {
        static_cast<std::int32_t>(height), static_cast<std::int32_t>(width), {}, {}, {}};
    const auto first = x.begin() + image * height * width;
    problem.x.assign(first, first + height * width);
    for (std::int64_t i = 0; i < height * width; ++i) {
      const std::int64_t r = i / width;
      const std::int64_t c = i % width;
      if (c + 1 < width) problem.lam_rows.push_back(lam_rows(image, r, c));
      if (r + 1 < height) problem.lam_cols.push_back(lam_cols(image, r, c));
    }
    const std::vector<double> solved =
        reference::iterate(problem, reference::Method2d::dykstra, iterations).y;
    y.insert(y.end(), solved.begin(), solved.end());
  }
  return y;
}

LamOf number(double lam) {
  return [lam](std::int64_t, std::int64_t, std::int64_t) { return lam; };
}

TEST(ImagesLayout, EveryDtypeInEveryLayout) {
  for (const DType dtype : kDTypes) {
    const std::vector<double> x = Array(dtype, noise(kElements)).values();
    const std::vector<double> expected =
        oracle(x, kBatch * kChannels, kHeight, kWidth, number(0.4), number(0.7));
    for (const Layout& in : kLayouts) {
      for (const Layout& out : kLayouts) {
        const std::string what = std::string(in.name) + " to " + out.name;
        Placed from(in, dtype, x), to(out, dtype, std::vector<double>(kElements));
        const Status status =
            prox_tv2d({.x = from.view(), .lam_rows = 0.4, .lam_cols = 0.7}, {}, {.y = to.view()});
        ASSERT_TRUE(status.ok()) << what << ": " << message(status);
        expect_near(to.values(), expected, x, dtype, what);
      }
      // In place.
      Placed both(in, dtype, x);
      ASSERT_TRUE(
          prox_tv2d({.x = both.view(), .lam_rows = 0.4, .lam_cols = 0.7}, {}, {.y = both.view()})
              .ok());
      expect_near(both.values(), expected, x, dtype, std::string(in.name) + " in place");
    }
  }
}

/// Bits do not depend on the layout: each image is loaded first.
TEST(ImagesLayout, DoesNotChangeBits) {
  const std::vector<double> x = noise(kElements);
  std::vector<double> expected;
  for (const Layout& in : kLayouts) {
    Placed from(in, DType::float32, x), to(in, DType::float32, std::vector<double>(kElements));
    ASSERT_TRUE(prox_tv2d({.x = from.view(), .lam_rows = 0.4, .lam_cols = 0.7},
                          {.method = Method2d::accelerated, .iterations = 7}, {.y = to.view()})
                    .ok());
    if (expected.empty()) expected = to.values();
    EXPECT_EQ(to.values(), expected) << in.name;
  }
}

/// Every pair of dims may be the images'.
TEST(ImagesLayout, AnyTwoDims) {
  const std::int64_t shape[] = {3, 5, 4, 6};
  const std::vector<double> x = noise(3 * 5 * 4 * 6);
  const ConstView x_view = view(x.data(), shape);
  for (int height_dim = 0; height_dim < 4; ++height_dim) {
    for (int width_dim = 0; width_dim < 4; ++width_dim) {
      if (height_dim == width_dim) continue;
      // The same with the dims in order: batch, then height, then width.
      std::vector<std::int64_t> sizes, strides;
      for (int d = 0; d < 4; ++d) {
        if (d == height_dim || d == width_dim) continue;
        sizes.push_back(shape[d]);
        strides.push_back(x_view.strides[d]);
      }
      for (const int d : {height_dim, width_dim}) {
        sizes.push_back(shape[d]);
        strides.push_back(x_view.strides[d]);
      }
      std::vector<double> expected(x.size()), y(x.size());
      // One lam per position in the last dim of the batch.
      std::vector<double> lam(static_cast<std::size_t>(sizes[1]));
      for (std::size_t i = 0; i < lam.size(); ++i) lam[i] = 0.2 * static_cast<double>(i);
      std::int64_t lam_shape[] = {1, 1, 1, 1};
      for (int d = 0; d < 4; ++d) {
        if (d != height_dim && d != width_dim) lam_shape[d] = shape[d];
      }
      for (int d = 0, batch_dims = 0; d < 4 && batch_dims == 0; ++d) {
        if (d == height_dim || d == width_dim) continue;
        lam_shape[d] = 1;
        ++batch_dims;
      }
      ASSERT_TRUE(
          prox_tv2d(
              {.x = view(static_cast<const void*>(x.data()), DType::float64, sizes, strides),
               .lam_rows = 0.3,
               .lam_cols = view(lam.data(), {1, sizes[1], 1, 1})},
              {}, {.y = view(static_cast<void*>(expected.data()), DType::float64, sizes, strides)})
              .ok());
      const Status status = prox_tv2d({.x = x_view,
                                       .lam_rows = 0.3,
                                       .lam_cols = view(lam.data(), lam_shape),
                                       .height_dim = height_dim,
                                       .width_dim = width_dim - 4},
                                      {}, {.y = view(y.data(), shape)});
      ASSERT_TRUE(status.ok()) << message(status);
      EXPECT_EQ(y, expected) << height_dim << " " << width_dim;
    }
  }
}

struct GivenLam {
  const char* name;
  std::vector<std::int64_t> shape;  // of (2, 3, 7, 19); empty: a number
  bool along_rows;                  // or along columns
};

/// One lam in all, per image, channel, line or edge; along rows and along columns.
TEST(ImagesLayout, LamsBroadcast) {
  const GivenLam lams_along_rows[] = {
      {"number", {}, true},          {"no dims at all", {1}, true},
      {"image", {2, 1, 1, 1}, true}, {"channel", {3, 1, 1}, true},
      {"both", {2, 3, 1, 1}, true},  {"row", {2, 3, 7, 1}, true},
      {"row of all", {7, 1}, true},  {"edge", {2, 3, 7, 18}, true},
      {"edge of all", {18}, true},   {"edge of a channel", {3, 1, 18}, true},
  };
  const GivenLam lams_along_columns[] = {
      {"number", {}, false},
      {"channel", {3, 1, 1}, false},
      {"column", {2, 3, 1, 19}, false},
      {"column of all", {19}, false},
      {"edge", {2, 3, 6, 19}, false},
      {"edge of all", {6, 1}, false},
      {"edge of an image", {2, 1, 6, 1}, false},
  };
  Random random(base_seed());
  const std::vector<double> x = noise(kElements);
  const auto make = [&](const GivenLam& given) {
    std::int64_t size = 1;
    for (const std::int64_t n : given.shape) size *= n;
    std::vector<double> values(static_cast<std::size_t>(size));
    // Some 0, some infinite; multiples of 1/8, which every dtype can represent.
    for (double& value : values) {
      const auto kind = random() % 16;
      value = kind == 0 ? 0 : static_cast<double>(random() % 8 + 1) / 8;
    }
    return values;
  };
  const auto lam_of = [](const GivenLam& given, const std::vector<double>& values) -> LamOf {
    return [&given, &values](std::int64_t image, std::int64_t r, std::int64_t c) {
      const std::int64_t index[] = {image / kChannels, image % kChannels, r, c};
      std::int64_t at = 0;
      for (std::size_t d = 0; d < given.shape.size(); ++d) {
        const std::int64_t n = given.shape[d];
        at = at * n + (n == 1 ? 0 : index[4 - given.shape.size() + d]);
      }
      return values[static_cast<std::size_t>(at)];
    };
  };
  for (const GivenLam& rows : lams_along_rows) {
    for (const GivenLam& columns : lams_along_columns) {
      const std::vector<double> row_values = make(rows), column_values = make(columns);
      const std::vector<double> expected =
          oracle(x, kBatch * kChannels, kHeight, kWidth, lam_of(rows, row_values),
                 lam_of(columns, column_values));
      for (const DType lam_dtype : {DType::float64, DType::bfloat16}) {
        const Array row_array(lam_dtype, row_values), column_array(lam_dtype, column_values);
        const auto as_lam = [&](const GivenLam& given, const Array& array,
                                const std::vector<double>& values) {
          if (given.shape.empty()) return Lam(values[0]);
          return Lam(view(array.view().data, lam_dtype, given.shape));
        };
        std::vector<double> y(x.size());
        const Sizes shape = {kBatch, kChannels, kHeight, kWidth};
        const Status status = prox_tv2d({.x = view(x.data(), shape),
                                         .lam_rows = as_lam(rows, row_array, row_values),
                                         .lam_cols = as_lam(columns, column_array, column_values)},
                                        {}, {.y = view(y.data(), shape)});
        const std::string what = std::string(rows.name) + " and " + columns.name;
        ASSERT_TRUE(status.ok()) << what << ": " << message(status);
        expect_near(y, expected, x, DType::float64, what);
      }
    }
  }
}

/// What the gap of an optimum has, of values up to 4, where it is stored in this dtype.
double rounding_of(DType dtype, std::size_t pixels) {
  return static_cast<double>(pixels) * std::pow(unit_in_last_place(dtype, 2), 2) / 8;
}

/// Where one lam is 0 only the other direction is left; where one is infinite its lines are
/// constant, exactly.
TEST(ImagesLayout, ZeroAndInfiniteLams) {
  const std::vector<double> x = noise(kElements / 6);
  for (const DType dtype : kDTypes) {
    const std::vector<double> rounded = Array(dtype, x).values();
    const auto solve = [&](double lam_rows, double lam_cols, double tol = 0) {
      Array from(dtype, x), to(dtype, x.size());
      std::vector<double> gap(1);
      std::vector<std::int32_t> iterations(1);
      const Status status =
          prox_tv2d({.x = from.view({kHeight, kWidth}), .lam_rows = lam_rows, .lam_cols = lam_cols},
                    {.method = Method2d::accelerated, .iterations = 9, .tol = tol},
                    {.y = to.view({kHeight, kWidth}), .gap = gap, .iterations = iterations});
      EXPECT_TRUE(status.ok()) << message(status);
      EXPECT_TRUE(std::isfinite(gap[0]));
      if (lam_rows > 0 && lam_rows < kInfinity && lam_cols == kInfinity) return to.values();
      // All others are at the optimum after one pass a direction.
      EXPECT_LE(gap[0], (dtype == DType::float64 ? 1e-20 : 1e-10) + rounding_of(dtype, x.size()))
          << lam_rows << " " << lam_cols;
      EXPECT_EQ(iterations[0], tol > 0 ? 4 : 9);
      return to.values();
    };
    const auto by_rows = [&](int dim) {
      Array from(dtype, x), to(dtype, x.size());
      EXPECT_TRUE(prox_tv1d({.x = from.view({kHeight, kWidth}), .lam = 0.5, .dim = dim},
                            to.view({kHeight, kWidth}))
                      .ok());
      return to.values();
    };
    expect_near(solve(0.5, 0), by_rows(1), x, dtype, "columns 0");
    expect_near(solve(0, 0.5), by_rows(0), x, dtype, "rows 0");
    const double mean =
        std::accumulate(rounded.begin(), rounded.end(), 0.0) / static_cast<double>(x.size());
    expect_near(solve(kInfinity, kInfinity), std::vector<double>(x.size(), mean), x, dtype,
                "all infinite");
    for (const double tol : {0.0, 1e-3}) {
      const std::vector<double> rows_alike = solve(kInfinity, 0.3, tol);
      const std::vector<double> columns_alike = solve(0.3, kInfinity, tol);
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(rows_alike[i], rows_alike[i / kWidth * kWidth]);
        ASSERT_EQ(columns_alike[i], columns_alike[i % kWidth]);
      }
    }
  }
}

TEST(ImagesLayout, SmallImages) {
  for (const auto& [height, width] : {std::pair{1, 1}, {1, 2}, {2, 1}, {1, 33}, {33, 1}, {2, 2}}) {
    const std::vector<double> x = noise(static_cast<std::size_t>(3 * height * width));
    for (const DType dtype : kDTypes) {
      Array from(dtype, x), to(dtype, x.size());
      std::vector<double> gap(3);
      const Status status =
          prox_tv2d({.x = from.view({3, height, width}), .lam_rows = 0.4, .lam_cols = 0.7},
                    {.iterations = 30}, {.y = to.view({3, height, width}), .gap = gap});
      ASSERT_TRUE(status.ok()) << message(status);
      const std::vector<double> rounded = from.values();
      expect_near(to.values(), oracle(rounded, 3, height, width, number(0.4), number(0.7), 30),
                  rounded, dtype, std::to_string(height) + " x " + std::to_string(width));
      for (const double value : gap) EXPECT_LE(value, 1e-6 + rounding_of(dtype, x.size() / 3));
    }
  }
}

TEST(ImagesLayout, EmptyImagesAndBatches) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {2, 0, 0}}) {
    const auto count = static_cast<std::size_t>(shape[0]);
    double value = -7;
    std::vector<double> gap(count, -7), momentum(4 * count, -7);
    std::vector<std::int32_t> iterations(count, -7);
    const View empty = view(&value, shape);
    EXPECT_EQ(saved_words2d(empty, 4), 0);
    const Status status = prox_tv2d(
        {.x = empty, .lam_rows = 1.0, .lam_cols = 1.0}, {},
        {.y = empty, .momentum = momentum, .dual = empty, .gap = gap, .iterations = iterations});
    ASSERT_TRUE(status.ok()) << message(status);
    EXPECT_EQ(gap, std::vector<double>(count));
    EXPECT_EQ(iterations, std::vector<std::int32_t>(count));
    for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
      const Solved2d solved = {
          .partitions = {}, .momentum = momentum, .done = iterations, .derivative = derivative};
      // Lines without pixels still have lams.
      std::vector<double> lam_rows(static_cast<std::size_t>(shape[0] * shape[1]), -7);
      std::vector<double> lam_cols(static_cast<std::size_t>(shape[0] * shape[2]), -7);
      const Status back =
          prox_tv2d_backward(solved, empty,
                             {.x = empty,
                              .lam_rows = view(lam_rows.data(), {shape[0], shape[1], 1}),
                              .lam_cols = view(lam_cols.data(), {shape[0], 1, shape[2]})});
      ASSERT_TRUE(back.ok()) << message(back);
      EXPECT_EQ(lam_rows, std::vector<double>(lam_rows.size()));
      EXPECT_EQ(lam_cols, std::vector<double>(lam_cols.size()));
      EXPECT_TRUE(prox_tv2d_jvp(solved, {.x = empty}, empty).ok());
    }
    EXPECT_EQ(value, -7);
  }
}

TEST(ImagesLayout, ABadSampleMakesItsImageNanAndNoOther) {
  Random random(base_seed());
  const ImageBatch good = random_images(random, 4, kHeight, kWidth, 0.5);
  for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
    const Solver2d solver = {
        .method = Method2d::accelerated, .iterations = 40, .tol = 1e-3, .derivative = derivative};
    const SolvedImagesCall expected(good, solver);
    for (const double value : {kNan, kInfinity, -kInfinity}) {
      ImageBatch bad = good;
      bad.x[2 * good.pixels() + 40] = value;
      const SolvedImagesCall call(bad, solver);
      EXPECT_TRUE(std::isnan(call.gap[2]));
      EXPECT_EQ(call.iterations[2], 0);
      const std::vector<double> g = random_images(random, 4, kHeight, kWidth, 1).x;
      const ImageBatch gradient = call.backward(g), expected_gradient = expected.backward(g);
      const std::vector<double> tangent = call.jvp(good), expected_tangent = expected.jvp(good);
      // Its lines are one segment each, as for rows in 1D; so are its derivatives.
      const auto image_g = std::span(g).subspan(2 * good.pixels(), good.pixels());
      const double mean =
          std::accumulate(image_g.begin(), image_g.end(), 0.0) / static_cast<double>(good.pixels());
      for (std::size_t i = 0; i < call.y.size(); ++i) {
        if (i / good.pixels() == 2) {
          ASSERT_TRUE(std::isnan(call.y[i]));
          ASSERT_TRUE(std::isnan(call.dual[i]));
          ASSERT_NEAR(gradient.x[i], mean, 1e-14);
        } else {
          ASSERT_EQ(call.y[i], expected.y[i]);
          ASSERT_EQ(call.dual[i], expected.dual[i]);
          ASSERT_EQ(gradient.x[i], expected_gradient.x[i]);
          ASSERT_EQ(tangent[i], expected_tangent[i]);
        }
      }
    }
  }
}

/// Each image stops independently, with the same bits as alone.
TEST(ImagesLayout, TolStopsEachImage) {
  Random random(base_seed());
  ImageBatch batch = random_images(random, 5, 16, 18, 1);
  for (std::size_t i = 0; i < batch.lam_rows.size(); ++i) {
    batch.lam_rows[i] *= 0.05 * static_cast<double>(1 + 5 * (i / (batch.lam_rows.size() / 5)));
  }
  const Solver2d solver = {.method = Method2d::accelerated, .iterations = 200, .tol = 1e-5};
  const SolvedImagesCall call(batch, solver);
  EXPECT_NE(*std::min_element(call.iterations.begin(), call.iterations.end()),
            *std::max_element(call.iterations.begin(), call.iterations.end()));
  for (std::int64_t i = 0; i < 5; ++i) {
    const reference::Problem2d one = batch.image(i);
    ImageBatch alone(1, 16, 18);
    alone.x = one.x;
    alone.lam_rows = one.lam_rows;
    alone.lam_cols = one.lam_cols;
    const SolvedImagesCall expected(alone, solver);
    const auto k = static_cast<std::size_t>(i);
    const auto y = std::span(call.y).subspan(k * batch.pixels(), batch.pixels());
    EXPECT_EQ(call.iterations[k], expected.iterations[0]);
    EXPECT_EQ(call.gap[k], expected.gap[0]);
    EXPECT_EQ(std::vector<double>(y.begin(), y.end()), expected.y);
    EXPECT_EQ(call.iterations[k] % 4, 0);
    EXPECT_LE(call.gap[k], solver.tol * reference::objective(one, y) * (1 + 1e-9));
  }
}

/// All results of a call and its derivatives, to be compared bit for bit.
std::vector<double> all_results(const ImageBatch& batch, const Solver2d& solver,
                                const Context& context) {
  const SolvedImagesCall call(batch, solver, Mode::smooth, context);
  const ImageBatch gradient = call.backward(batch.x, context);
  std::vector<double> all = call.jvp(batch, context);
  for (const auto* part :
       {&call.y, &call.dual, &call.gap, &gradient.x, &gradient.lam_rows, &gradient.lam_cols}) {
    all.insert(all.end(), part->begin(), part->end());
  }
  all.insert(all.end(), call.iterations.begin(), call.iterations.end());
  // Momentum and partitions of iterations that were not needed are unspecified.
  return all;
}

const Solver2d kSolvers[] = {
    {.iterations = 3},
    {.method = Method2d::accelerated, .iterations = 30, .tol = 1e-4},
    {.method = Method2d::accelerated,
     .iterations = 30,
     .tol = 1e-4,
     .derivative = Derivative2d::implicit},
};

TEST(ImagesExecutor, ThreadsDoNotChangeBits) {
  Random random(base_seed());
  // Threads share the images, or the lines of each image, or parts of images that are too large for
  // one task.
  for (const auto& [count, height, width] :
       {std::array{9, 37, 50}, {3, 37, 50}, {1, 37, 50}, {1, 250, 300}}) {
    const ImageBatch batch = random_images(random, count, height, width, 0.5);
    for (const Solver2d& solver : kSolvers) {
      const std::vector<double> expected = all_results(batch, solver, {});
      for (const int threads : {1, 2, 4, 7}) {
        ThreadExecutor executor(threads);
        EXPECT_EQ(all_results(batch, solver, {.executor = &executor}), expected);
      }
    }
  }
}

/// A workspace of exactly the size asked for, with guards on both sides, is enough for all calls.
TEST(ImagesExecutor, TheCallersWorkspaceIsEnough) {
  Random random(base_seed());
  constexpr std::size_t kGuard = 128;
  constexpr std::byte kUntouched{0x5A};
  for (const auto& [count, height, width] :
       {std::array{1, 37, 50}, {5, 6, 3}, {4, 1, 40}, {4, 40, 1}, {1, 1, 1}, {2, 300, 4}}) {
    const ImageBatch batch = random_images(random, count, height, width, 0.5);
    for (const int threads : {0, 2, 3}) {
      ThreadExecutor executor(threads);
      Context context = {.executor = threads == 0 ? nullptr : &executor};
      std::size_t bytes = 0;
      ASSERT_TRUE(prox_tv2d_workspace(batch.problem(), context, bytes).ok());
      for (const Solver2d& solver : kSolvers) {
        std::size_t of_solver = 0;
        ASSERT_TRUE(prox_tv2d_workspace(batch.problem(), solver, context, of_solver).ok());
        EXPECT_LE(of_solver, bytes);
      }
      std::vector<std::byte> memory(bytes + 2 * kGuard + 64, kUntouched);
      const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + kGuard;
      const std::size_t before = kGuard + (64 - address % 64) % 64;
      context.workspace = memory.data() + before;
      context.workspace_size = bytes;
      for (const Solver2d& solver : kSolvers) {
        EXPECT_EQ(all_results(batch, solver, context), all_results(batch, solver, {}));
      }
      const auto untouched = [](std::byte value) { return value == kUntouched; };
      EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(before),
                              untouched));
      EXPECT_TRUE(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(before + bytes),
                              memory.end(), untouched));
    }
  }
}

/// The unit of an image does not matter, nor does its distance from 0.
TEST(ImagesLayout, ScaleAndOffsetDoNotMatter) {
  Random random(base_seed());
  for (const DType dtype : {DType::float32, DType::float64}) {
    const bool wide = dtype == DType::float64;
    std::vector<double> x(kHeight * kWidth);  // sixteenths: the last digits of float32 at 2^20
    for (double& value : x) value = static_cast<double>(random() % 64) / 16;
    const auto solve = [&](int exponent, double offset, std::int32_t& iterations) {
      std::vector<double> moved = x, gap(1);
      for (double& value : moved) value = std::ldexp(value, exponent) + offset;
      Array from(dtype, moved), to(dtype, x.size());
      const double lam = std::ldexp(0.75, exponent);
      const Status status = prox_tv2d(
          {.x = from.view({kHeight, kWidth}), .lam_rows = lam, .lam_cols = lam},
          {.method = Method2d::accelerated, .iterations = 60, .tol = 1e-4},
          {.y = to.view({kHeight, kWidth}), .gap = gap, .iterations = std::span(&iterations, 1)});
      EXPECT_TRUE(status.ok()) << message(status);
      EXPECT_FALSE(std::isnan(gap[0]));
      std::vector<double> y = to.values();
      for (double& value : y) value = std::ldexp(value - offset, -exponent);
      return y;
    };
    std::int32_t expected_iterations = 0;
    const std::vector<double> expected = solve(0, 0, expected_iterations);
    EXPECT_LT(expected_iterations, 60);
    for (const int exponent : {-100, -8, 8, 120, wide ? -1010 : 0, wide ? 1020 : 0}) {
      std::int32_t iterations = 0;
      const std::vector<double> y = solve(exponent, 0, iterations);
      EXPECT_EQ(iterations, expected_iterations) << exponent;
      expect_near(y, expected, x, dtype, "scale");
    }
    for (const double offset : {0x1p20 - 8, -0x1p20, 64.0}) {
      std::int32_t iterations = 0;
      const std::vector<double> y = solve(0, offset, iterations);
      EXPECT_EQ(iterations, expected_iterations) << offset;
      const double digit = unit_in_last_place(dtype, std::abs(offset));
      for (std::size_t i = 0; i < y.size(); ++i) {
        ASSERT_NEAR(y[i], expected[i], tolerance_of(dtype, 4, 4) + digit / 2) << offset;
      }
    }
  }
}

TEST(ImagesLayout, SharpMirrorsTheSmoothResult) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 2, kHeight, kWidth, 0.5);
  for (const Solver2d& solver : kSolvers) {
    const SolvedImagesCall smooth(batch, solver), sharp(batch, solver, Mode::sharp);
    for (std::size_t i = 0; i < 2; ++i) {  // of the image that it is mirrored at, rounded once more
      EXPECT_NEAR(sharp.gap[i], smooth.gap[i], 1e-15 * static_cast<double>(batch.x.size()));
    }
    EXPECT_EQ(smooth.dual, sharp.dual);
    for (std::size_t i = 0; i < batch.x.size(); ++i) {
      ASSERT_EQ(sharp.y[i], batch.x[i] + (batch.x[i] - smooth.y[i]));
    }
  }
}

TEST(ImagesLayout, ManyDimensionsFold) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 24, 4, 5, 0.5);
  const std::vector<double> lam = {0.1, 0.5};
  const std::vector<std::int64_t> shape = {2, 1, 3, 1, 2, 1, 1, 2, 4, 1, 5};
  const std::vector<std::int64_t> row_shape = {2, 1, 3, 1, 2, 1, 1, 2, 4, 1, 4};
  const std::vector<std::int64_t> few_lams = {2, 1, 1, 1, 1, 1, 1};  // as the fifth dimension has
  std::vector<double> y(480), dual(480), gap(24), grad_x(480), grad_lam_rows(384);
  std::vector<double> expected(480), expected_dual(480), expected_gap(24);
  std::vector<std::uint32_t> partitions(
      static_cast<std::size_t>(saved_words2d(view(batch.x.data(), {24, 4, 5}), 4)));
  std::vector<std::uint32_t> expected_partitions(partitions.size());
  std::vector<double> lam_of_images(24);
  for (std::size_t i = 0; i < 24; ++i) lam_of_images[i] = lam[i / 2 % 2];
  ASSERT_EQ(saved_words2d(view(batch.x.data(), shape), 4, 8, 10),
            static_cast<std::int64_t>(partitions.size()));
  ASSERT_TRUE(prox_tv2d({.x = view(batch.x.data(), shape),
                         .lam_rows = view(batch.lam_rows.data(), row_shape),
                         .lam_cols = view(lam.data(), few_lams),
                         .height_dim = 8,
                         .width_dim = 10},
                        {},
                        {.y = view(y.data(), shape),
                         .partitions = partitions,
                         .dual = view(dual.data(), shape),
                         .gap = gap})
                  .ok());
  ASSERT_TRUE(prox_tv2d({.x = view(batch.x.data(), {24, 4, 5}),
                         .lam_rows = view(batch.lam_rows.data(), {24, 4, 4}),
                         .lam_cols = view(lam_of_images.data(), {24, 1, 1})},
                        {},
                        {.y = view(expected.data(), {24, 4, 5}),
                         .partitions = expected_partitions,
                         .dual = view(expected_dual.data(), {24, 4, 5}),
                         .gap = expected_gap})
                  .ok());
  EXPECT_EQ(y, expected);
  EXPECT_EQ(dual, expected_dual);
  EXPECT_EQ(gap, expected_gap);
  EXPECT_EQ(partitions, expected_partitions);
  std::vector<double> expected_x(480), expected_lam_rows(384);
  ASSERT_TRUE(
      prox_tv2d_backward(
          {.partitions = partitions, .height_dim = 8, .width_dim = 10}, view(batch.x.data(), shape),
          {.x = view(grad_x.data(), shape), .lam_rows = view(grad_lam_rows.data(), row_shape)})
          .ok());
  ASSERT_TRUE(prox_tv2d_backward({.partitions = partitions}, view(batch.x.data(), {24, 4, 5}),
                                 {.x = view(expected_x.data(), {24, 4, 5}),
                                  .lam_rows = view(expected_lam_rows.data(), {24, 4, 4})})
                  .ok());
  EXPECT_EQ(grad_x, expected_x);
  EXPECT_EQ(grad_lam_rows, expected_lam_rows);
}

TEST(ImagesLayout, ManyDimensionsFoldOnAllSidesOfTheImages) {
  Random random(base_seed());
  const ImageBatch batch = random_images(random, 96, 4, 5, 0.5);
  const std::vector<std::int64_t> shape = {4, 2, 3, 5, 2, 2, 2, 1, 2, 1};
  std::vector<double> y(1920), expected(1920);
  for (const auto& [height_dim, width_dim] : {std::pair{0, 3}, {3, 0}}) {
    ASSERT_TRUE(prox_tv2d({.x = view(batch.x.data(), shape),
                           .lam_rows = 0.3,
                           .lam_cols = 0.5,
                           .height_dim = height_dim,
                           .width_dim = width_dim},
                          {}, {.y = view(y.data(), shape)})
                    .ok());
    ASSERT_TRUE(prox_tv2d({.x = view(batch.x.data(), {4, 6, 5, 16}),
                           .lam_rows = 0.3,
                           .lam_cols = 0.5,
                           .height_dim = height_dim == 0 ? 0 : 2,
                           .width_dim = width_dim == 0 ? 0 : 2},
                          {}, {.y = view(expected.data(), {4, 6, 5, 16})})
                    .ok());
    EXPECT_EQ(y, expected);
  }
}

}  // namespace
}  // namespace tautstring::testing
