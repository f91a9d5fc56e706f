#include "support/images.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tautstring/error.h"

namespace tautstring::testing {

ImageBatch::ImageBatch(std::int64_t count_, std::int64_t height_, std::int64_t width_)
    : count(count_),
      height(height_),
      width(width_),
      x(static_cast<std::size_t>(count * height * width)),
      lam_rows(static_cast<std::size_t>(count * height * (width - 1))),
      lam_cols(static_cast<std::size_t>(count * (height - 1) * width)) {}

Problem2d ImageBatch::problem(Mode mode) const {
  return {.x = view(x.data(), {count, height, width}),
          .lam_rows = view(lam_rows.data(), {count, height, width - 1}),
          .lam_cols = view(lam_cols.data(), {count, height - 1, width}),
          .mode = mode};
}

reference::Problem2d ImageBatch::image(std::int64_t index) const {
  const auto part = [&](const std::vector<double>& all) {
    const auto size = static_cast<std::ptrdiff_t>(all.size()) / count;
    return std::vector<double>(all.begin() + index * size, all.begin() + (index + 1) * size);
  };
  return {static_cast<std::int32_t>(height), static_cast<std::int32_t>(width), part(x),
          part(lam_rows), part(lam_cols)};
}

ImageBatch random_images(Random& random, std::int64_t count, std::int64_t height,
                         std::int64_t width, double lam) {
  ImageBatch batch(count, height, width);
  std::normal_distribution<double> noise;
  std::uniform_real_distribution<double> part(0.5, 1.5);
  for (double& value : batch.x) value = noise(random);
  for (double& value : batch.lam_rows) value = lam * part(random);
  for (double& value : batch.lam_cols) value = lam * part(random);
  return batch;
}

double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

double inner(const ImageBatch& a, const ImageBatch& b) {
  return inner(a.x, b.x) + inner(a.lam_rows, b.lam_rows) + inner(a.lam_cols, b.lam_cols);
}

SolvedImagesCall::SolvedImagesCall(const ImageBatch& batch, const Solver2d& solver_, Mode mode_,
                                   const Context& context)
    : shape(batch.count, batch.height, batch.width),
      solver(solver_),
      mode(mode_),
      y(batch.x.size()),
      dual(batch.x.size()),
      gap(static_cast<std::size_t>(batch.count)),
      momentum(static_cast<std::size_t>(batch.count * solver.iterations)),
      iterations(static_cast<std::size_t>(batch.count)) {
  const Problem2d problem = batch.problem(mode);
  const bool implicit = solver.derivative == Derivative2d::implicit;
  partitions.resize(
      static_cast<std::size_t>(saved_words2d(problem.x, implicit ? 1 : solver.iterations)));
  const Sizes sizes = {shape.count, shape.height, shape.width};
  const Status status = prox_tv2d(problem, solver,
                                  {.y = view(y.data(), sizes),
                                   .partitions = partitions,
                                   .momentum = momentum,
                                   .dual = view(dual.data(), sizes),
                                   .gap = gap,
                                   .iterations = iterations},
                                  context);
  EXPECT_TRUE(status.ok()) << message(status);
}

Solved2d SolvedImagesCall::solved() const {
  return {.partitions = partitions,
          .momentum = momentum,
          .done = iterations,
          .iterations = solver.iterations,
          .derivative = solver.derivative,
          .mode = mode};
}

ImageBatch SolvedImagesCall::backward(std::span<const double> grad_y,
                                      const Context& context) const {
  ImageBatch result = shape;
  const Status status = prox_tv2d_backward(
      solved(), view(grad_y.data(), {shape.count, shape.height, shape.width}),
      {.x = view(result.x.data(), {shape.count, shape.height, shape.width}),
       .lam_rows = view(result.lam_rows.data(), {shape.count, shape.height, shape.width - 1}),
       .lam_cols = view(result.lam_cols.data(), {shape.count, shape.height - 1, shape.width})},
      context);
  EXPECT_TRUE(status.ok()) << message(status);
  return result;
}

std::vector<double> SolvedImagesCall::jvp(const ImageBatch& tangents,
                                          const Context& context) const {
  std::vector<double> result(tangents.x.size());
  const Problem2d views = tangents.problem();
  const Status status = prox_tv2d_jvp(
      solved(), {.x = views.x, .lam_rows = views.lam_rows.array, .lam_cols = views.lam_cols.array},
      view(result.data(), {shape.count, shape.height, shape.width}), context);
  EXPECT_TRUE(status.ok()) << message(status);
  return result;
}

}  // namespace tautstring::testing
