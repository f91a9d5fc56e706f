// 2D: the derivatives against differences of the forward, and against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/images.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

struct Setting {
  Solver2d solver;
  Mode mode;
};

/// Both derivatives of both methods in both modes; images that stop early, at different iterations.
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Method2d method : {Method2d::dykstra, Method2d::accelerated}) {
    for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
      for (const double tol : {0.0, 1e-3}) {
        for (const Mode mode : {Mode::smooth, Mode::sharp}) {
          all.push_back({{.method = method,
                          .iterations = tol > 0 ? 60 : 9,
                          .tol = tol,
                          .derivative = derivative},
                         mode});
        }
      }
    }
  }
  return all;
}

/// Easy images and hard ones.
ImageBatch mixed_images(Random& random, std::int64_t height, std::int64_t width) {
  ImageBatch batch = random_images(random, 3, height, width, 0.5);
  const auto scale = [&](std::vector<double>& lams, std::int64_t image, double factor) {
    const std::size_t size = lams.size() / 3;
    for (std::size_t i = 0; i < size; ++i)
      lams[static_cast<std::size_t>(image) * size + i] *= factor;
  };
  scale(batch.lam_rows, 1, 0.1);
  scale(batch.lam_cols, 1, 0.1);
  scale(batch.lam_rows, 2, 3);
  return batch;
}

TEST(ImagesDerivative, BackwardAndJvpAreAdjoint) {
  Random random(base_seed());
  for (const auto& [height, width] :
       {std::pair{11, 17}, {20, 3}, {1, 9}, {9, 1}, {1, 1}, {65, 66}}) {
    for (const auto& [solver, mode] : settings()) {
      const SolvedImagesCall call(mixed_images(random, height, width), solver, mode);
      const std::vector<double> g = random_images(random, 3, height, width, 1).x;
      const ImageBatch v = random_images(random, 3, height, width, 1);
      const double forward = inner(call.jvp(v), g);
      const double backward = inner(v, call.backward(g));
      ASSERT_NEAR(forward, backward, 1e-12 * (1 + static_cast<double>(g.size())))
          << height << " x " << width;
    }
  }
}

/// For each pixel of an image, a representative of the pixels that the last passes do not separate
/// from it.
std::vector<std::size_t> components_of(const SolvedImagesCall& call, std::int64_t image) {
  const std::int64_t height = call.shape.height;
  const std::int64_t width = call.shape.width;
  const std::uint32_t* rows = call.partitions.data() + image * height * partition_words(width);
  const std::uint32_t* columns = call.partitions.data() +
                                 call.shape.count * height * partition_words(width) +
                                 image * width * partition_words(height);
  std::vector<std::size_t> labels(call.shape.pixels());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (std::int64_t r = 0; r < height; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        const auto own = static_cast<std::size_t>(r * width + c);
        const auto take_least = [&](std::size_t other) {
          is_changed = is_changed || labels[own] != labels[other];
          labels[own] = labels[other] = std::min(labels[own], labels[other]);
        };
        if (c > 0 && code_at(rows + r * partition_words(width), c) == Code::continues) {
          take_least(own - 1);
        }
        if (r > 0 && code_at(columns + c * partition_words(height), r) == Code::continues) {
          take_least(own - static_cast<std::size_t>(width));
        }
      }
    }
  }
  return labels;
}

TEST(ImagesDerivative, OfTheSolutionIsTheMeanOverAComponent) {
  Random random(base_seed());
  // The largest image that fits in a GPU block, larger ones, lines of one pixel or of many words.
  for (const auto& [height, width] :
       {std::pair{64, 64}, {65, 64}, {3, 1400}, {1, 4097}, {40, 33}, {1, 70}, {70, 1}}) {
    for (const double lam : {0.1, 1.0, 100.0}) {
      const SolvedImagesCall call(random_images(random, 2, height, width, lam),
                                  {.iterations = 4, .derivative = Derivative2d::implicit});
      const std::vector<double> g = random_images(random, 2, height, width, 1).x;
      const std::vector<double> grad_x = call.backward(g).x;
      for (std::int64_t image = 0; image < 2; ++image) {
        const std::vector<std::size_t> labels = components_of(call, image);
        const std::size_t first = static_cast<std::size_t>(image) * labels.size();
        std::vector<double> sums(labels.size());
        std::vector<double> sizes(labels.size());
        for (std::size_t i = 0; i < labels.size(); ++i) {
          sums[labels[i]] += g[first + i];
          sizes[labels[i]] += 1;
        }
        for (std::size_t i = 0; i < labels.size(); ++i) {
          ASSERT_NEAR(grad_x[first + i], sums[labels[i]] / sizes[labels[i]], 1e-12)
              << height << " x " << width << ", lam " << lam << ", pixel " << i;
        }
      }
    }
  }
}

TEST(ImagesDerivative, ImagesThatStopEarlyHaveTheirOwnIterations) {
  Random random(base_seed());
  const ImageBatch batch = mixed_images(random, 11, 17);
  const SolvedImagesCall call(batch,
                              {.method = Method2d::accelerated, .iterations = 60, .tol = 1e-3});
  EXPECT_LT(call.iterations[1], call.iterations[2]);
  const std::vector<double> g = random_images(random, 3, 11, 17, 1).x;
  const ImageBatch v = random_images(random, 3, 11, 17, 1);
  const ImageBatch backward = call.backward(g);
  const std::vector<double> forward = call.jvp(v);
  for (std::size_t i = 0; i < 3; ++i) {
    // The same image without tol, with the same number of iterations.
    const SolvedImagesCall plain(
        batch, {.method = Method2d::accelerated, .iterations = call.iterations[i]});
    const std::size_t first = i * call.shape.pixels();
    const std::size_t last = first + call.shape.pixels();
    const ImageBatch expected = plain.backward(g);
    const std::vector<double> tangent = plain.jvp(v);
    for (std::size_t k = first; k < last; ++k) {
      ASSERT_EQ(call.y[k], plain.y[k]);
      ASSERT_EQ(backward.x[k], expected.x[k]);
      ASSERT_EQ(forward[k], tangent[k]);
    }
  }
}

/// The jvp against the difference of two forwards, in a random direction.
TEST(ImagesDerivative, JvpIsTheDifferenceOfForwards) {
  Random random(base_seed());
  for (const auto& [solver, mode] : settings()) {
    Solver2d own = solver;
    own.tol = 0;
    if (own.derivative == Derivative2d::implicit) {
      own.iterations = own.method == Method2d::accelerated ? 1000 : 4000;
    }
    const ImageBatch batch = random_images(random, 1, 6, 5, 0.4);
    const ImageBatch v = random_images(random, 1, 6, 5, 1);
    const auto beside = [&](double step) {
      ImageBatch moved = batch;
      for (std::size_t i = 0; i < v.x.size(); ++i) moved.x[i] += step * v.x[i];
      for (std::size_t i = 0; i < v.lam_rows.size(); ++i) moved.lam_rows[i] += step * v.lam_rows[i];
      for (std::size_t i = 0; i < v.lam_cols.size(); ++i) {
        moved.lam_cols[i] += step * v.lam_cols[i];
      }
      return SolvedImagesCall(moved, own, mode).y;
    };
    constexpr double kStep = 1e-6;
    const std::vector<double> above = beside(kStep);
    const std::vector<double> below = beside(-kStep);
    const std::vector<double> tangent = SolvedImagesCall(batch, own, mode).jvp(v);
    for (std::size_t i = 0; i < tangent.size(); ++i) {
      ASSERT_NEAR(tangent[i], (above[i] - below[i]) / (2 * kStep), 1e-6) << i;
    }
  }
}

TEST(ImagesDerivative, TangentsNotGivenAreZero) {
  Random random(base_seed());
  for (const auto& [solver, mode] : settings()) {
    const SolvedImagesCall call(mixed_images(random, 7, 6), solver, mode);
    const ImageBatch v = random_images(random, 3, 7, 6, 1);
    const Problem2d views = v.problem();
    std::vector<double> sum(v.x.size()), part(v.x.size());
    const View out = view(part.data(), {3, 7, 6});
    const auto add = [&](const Tangents2d& tangents) {
      const Status status = prox_tv2d_jvp(call.solved(), tangents, out);
      EXPECT_TRUE(status.ok()) << message(status);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    };
    add({.x = views.x});
    add({.lam_rows = views.lam_rows.array});
    add({.lam_cols = views.lam_cols.array});
    const std::vector<double> together = call.jvp(v);
    for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], together[i], 1e-12);
    add({});
    EXPECT_EQ(part, std::vector<double>(part.size()));
  }
}

/// One tangent per line equals the same tangent on all its edges; the gradient for a line is the
/// sum over its edges.
TEST(ImagesDerivative, ALamOfALineIsOneOfAllItsEdges) {
  Random random(base_seed());
  for (const auto& [solver, mode] : settings()) {
    const SolvedImagesCall call(mixed_images(random, 7, 6), solver, mode);
    ImageBatch edges(3, 7, 6);
    std::vector<double> rows(3 * 7), columns(6);
    for (double& value : rows) value = std::normal_distribution<double>()(random);
    for (double& value : columns) value = std::normal_distribution<double>()(random);
    for (std::size_t i = 0; i < edges.lam_rows.size(); ++i) edges.lam_rows[i] = rows[i / 5];
    for (std::size_t i = 0; i < edges.lam_cols.size(); ++i) edges.lam_cols[i] = columns[i % 6];
    std::vector<double> tangent(edges.x.size());
    ASSERT_TRUE(prox_tv2d_jvp(call.solved(),
                              {.lam_rows = view(rows.data(), {3, 7, 1}),
                               .lam_cols = view(columns.data(), {1, 1, 6})},
                              view(tangent.data(), {3, 7, 6}))
                    .ok());
    const std::vector<double> expected = call.jvp(edges);
    for (std::size_t i = 0; i < tangent.size(); ++i) ASSERT_NEAR(tangent[i], expected[i], 1e-13);

    const std::vector<double> g = random_images(random, 3, 7, 6, 1).x;
    const ImageBatch all = call.backward(g);
    std::vector<double> row_sums(3 * 7, -9), column_sums(3 * 6, -9);
    ASSERT_TRUE(prox_tv2d_backward(call.solved(), view(g.data(), {3, 7, 6}),
                                   {.lam_rows = view(row_sums.data(), {3, 7, 1}),
                                    .lam_cols = view(column_sums.data(), {3, 1, 6})})
                    .ok());
    for (std::size_t i = 0; i < all.lam_rows.size(); ++i) row_sums[i / 5] -= all.lam_rows[i];
    for (std::size_t i = 0; i < all.lam_cols.size(); ++i) {
      column_sums[i / 36 * 6 + i % 6] -= all.lam_cols[i];
    }
    for (const double rest : row_sums) ASSERT_NEAR(rest, 0, 1e-12);
    for (const double rest : column_sums) ASSERT_NEAR(rest, 0, 1e-12);
  }
}

TEST(ImagesDerivative, ResultsMayReplaceWhatCameIn) {
  Random random(base_seed());
  for (const auto& [solver, mode] : settings()) {
    const SolvedImagesCall call(mixed_images(random, 7, 6), solver, mode);
    ImageBatch v(3, 7, 6);
    v.x = random_images(random, 3, 7, 6, 1).x;
    std::vector<double> in_place = v.x;
    const View there = view(in_place.data(), {3, 7, 6});
    ASSERT_TRUE(prox_tv2d_jvp(call.solved(), {.x = there}, there).ok());
    EXPECT_EQ(in_place, call.jvp(v));
    in_place = v.x;
    ASSERT_TRUE(prox_tv2d_backward(call.solved(), there, {.x = there}).ok());
    EXPECT_EQ(in_place, call.backward(v.x).x);
  }
}

}  // namespace
}  // namespace tautstring::testing
