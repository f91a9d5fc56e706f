// 2D: an image whose lams are all 0 is copied, bit for bit, and its derivative is the identity.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/images.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kHeight = 5;
constexpr std::int64_t kWidth = 18;
constexpr std::size_t kPixels = kHeight * kWidth;

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* first = reinterpret_cast<const std::byte*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

/// Any bits are allowed in samples: all kinds of NaN, infinities, both zeros.
TEST(ImagesCopied, KeepEveryBit) {
  Random random(base_seed());
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    std::vector<std::uint64_t> bits(kPixels);
    for (std::uint64_t& word : bits) word = random();
    std::vector<std::byte> x = bytes_of(bits);
    for (const Mode mode : {Mode::smooth, Mode::sharp}) {
      for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
        std::vector<std::byte> y(x.size());
        const auto size = kPixels * static_cast<std::size_t>(size_of(dtype));
        std::vector<double> gap(1, -7), momentum(3, -7), dual(kPixels, -7);
        std::vector<std::int32_t> iterations(1, -7);
        std::vector<std::uint32_t> partitions(static_cast<std::size_t>(saved_words2d(
            view(dual.data(), {kHeight, kWidth}), derivative == Derivative2d::implicit ? 1 : 3)));
        const Status status = prox_tv2d(
            {.x = view(static_cast<const void*>(x.data()), dtype, {kHeight, kWidth}), .mode = mode},
            {.iterations = 3, .tol = 1e-3, .derivative = derivative},
            {.y = view(static_cast<void*>(y.data()), dtype, {kHeight, kWidth}),
             .partitions = partitions,
             .momentum = momentum,
             .dual = view(dual.data(), {kHeight, kWidth}),
             .gap = gap,
             .iterations = iterations});
        ASSERT_TRUE(status.ok()) << message(status);
        ASSERT_EQ(std::memcmp(x.data(), y.data(), size), 0) << dtype_name(dtype);
        EXPECT_EQ(gap[0], 0);
        EXPECT_EQ(iterations[0], 0);
        EXPECT_EQ(momentum, std::vector<double>(3));
        EXPECT_EQ(dual, std::vector<double>(kPixels));
      }
    }
  }
}

TEST(ImagesCopied, HaveThePartitionOfCopiedRows) {
  Random random(base_seed());
  ImageBatch batch(2, kHeight, kWidth);
  for (double& value : batch.x) value = static_cast<double>(random() % 3);
  batch.x[7] = std::numeric_limits<double>::quiet_NaN();
  const SolvedImagesCall call(batch, {.iterations = 3});
  std::vector<double> y(batch.x.size());
  const View copy = view(y.data(), {2, kHeight, kWidth});
  std::vector<std::uint32_t> rows(2 * kHeight * partition_words(kWidth));
  std::vector<std::uint32_t> columns(2 * kWidth * partition_words(kHeight));
  ASSERT_TRUE(prox_tv1d({.x = batch.problem().x, .lam = 0.0, .dim = 2}, copy, rows).ok());
  ASSERT_TRUE(prox_tv1d({.x = batch.problem().x, .lam = 0.0, .dim = 1}, copy, columns).ok());
  std::vector<std::uint32_t> expected;
  for (int k = 0; k < 3; ++k) {
    expected.insert(expected.end(), rows.begin(), rows.end());
    expected.insert(expected.end(), columns.begin(), columns.end());
  }
  EXPECT_EQ(call.partitions, expected);
}

TEST(ImagesCopied, HaveTheIdentityForADerivative) {
  Random random(base_seed());
  ImageBatch batch(2, kHeight, kWidth);
  batch.x = random_images(random, 2, kHeight, kWidth, 1).x;
  std::vector<double> g = random_images(random, 2, kHeight, kWidth, 1).x;
  g[3] = -0.0;
  g[4] = 0.0;
  g[5] = std::numeric_limits<double>::max();
  ImageBatch v(2, kHeight, kWidth);
  v.x = g;
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
      for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
        const SolvedImagesCall call(
            batch, {.method = method, .iterations = 4, .derivative = derivative}, mode);
        const ImageBatch gradient = call.backward(g);
        EXPECT_EQ(bytes_of(gradient.x), bytes_of(g));
        EXPECT_EQ(bytes_of(call.jvp(v)), bytes_of(g));
        // The gradient of a lam: the effect of a step away from 0.
        const double sign = mode == Mode::sharp ? 1 : -1;
        for (std::size_t e = 0; e < gradient.lam_rows.size(); ++e) {
          const std::size_t i = e / (kWidth - 1) * kWidth + e % (kWidth - 1);
          const double jump = batch.x[i + 1] > batch.x[i] ? 1 : -1;
          ASSERT_EQ(gradient.lam_rows[e], sign * jump * (g[i + 1] - g[i]));
        }
        // If `done` is not given, the iterations of the call are used.
        Solved2d all = call.solved();
        all.done = {};
        std::vector<double> grad_x(g.size());
        ASSERT_TRUE(prox_tv2d_backward(all, view(g.data(), {2, kHeight, kWidth}),
                                       {.x = view(grad_x.data(), {2, kHeight, kWidth})})
                        .ok());
        EXPECT_EQ(bytes_of(grad_x), bytes_of(g));
      }
    }
  }
}

/// If only some images or one direction have lams of 0, images are solved as usual.
TEST(ImagesCopied, NeedAllTheirLamsToBeZero) {
  Random random(base_seed());
  const ImageBatch noise = random_images(random, 4, kHeight, kWidth, 1);
  const std::vector<double> lam_rows = {0, 0.5, 0, 0.5};
  const std::vector<double> lam_cols = {0, 0, 0.5, 0.5};
  std::vector<double> x = noise.x, y(x.size()), gap(4);
  std::vector<std::int32_t> iterations(4);
  const auto solve = [&](const std::vector<double>& from) {
    const Status status = prox_tv2d(
        {.x = view(from.data(), {4, kHeight, kWidth}),
         .lam_rows = view(lam_rows.data(), {4, 1, 1}),
         .lam_cols = view(lam_cols.data(), {4, 1, 1})},
        {.iterations = 2},
        {.y = view(y.data(), {4, kHeight, kWidth}), .gap = gap, .iterations = iterations});
    EXPECT_TRUE(status.ok()) << message(status);
  };
  solve(x);
  EXPECT_EQ(iterations, (std::vector<std::int32_t>{0, 2, 2, 2}));
  const auto of_image = [](const std::vector<double>& values, std::size_t image) {
    return std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(image * kPixels),
                               values.begin() + static_cast<std::ptrdiff_t>((image + 1) * kPixels));
  };
  EXPECT_EQ(of_image(y, 0), of_image(x, 0));
  for (const int dim : {1, 0}) {  // only rows, only columns: as in 1D
    const std::size_t image = dim == 1 ? 1 : 2;
    const std::vector<double> alone = of_image(x, image);
    std::vector<double> expected(kPixels);
    ASSERT_TRUE(prox_tv1d({.x = view(alone.data(), {kHeight, kWidth}), .lam = 0.5, .dim = dim},
                          view(expected.data(), {kHeight, kWidth}))
                    .ok());
    for (std::size_t i = 0; i < kPixels; ++i) {
      ASSERT_NEAR(y[image * kPixels + i], expected[i], 1e-14);
    }
    EXPECT_NEAR(gap[image], 0, 1e-20);
  }
  // Invalid samples are copied in the image with lams 0 and make the others NaN.
  for (std::size_t image = 0; image < 4; ++image) {
    x[image * kPixels + 9] = std::numeric_limits<double>::infinity();
  }
  solve(x);
  EXPECT_EQ(of_image(y, 0), of_image(x, 0));
  EXPECT_EQ(gap[0], 0);
  for (std::size_t i = kPixels; i < y.size(); ++i) ASSERT_TRUE(std::isnan(y[i]));
  for (std::size_t image = 1; image < 4; ++image) EXPECT_TRUE(std::isnan(gap[image]));
}

}  // namespace
}  // namespace tautstring::testing
