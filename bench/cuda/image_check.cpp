#include "image_check.h"

#include <tautstring/error.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "device.h"
#include "differences.h"
#include "storage.h"

namespace bench {
namespace {

// At most what the CPU solves in a second, and at least one image.
constexpr std::int64_t kCheckedImages = 64;
constexpr std::int64_t kCheckedPixels = std::int64_t{1} << 22;
constexpr double kGapSlack = 1.01;  // gap2d is this close to the true distance from the optimum

std::int64_t checked_images(const ImageShape& shape) {
  const std::int64_t by_pixels = std::max<std::int64_t>(1, kCheckedPixels / shape.pixels());
  return std::min({kCheckedImages, by_pixels, shape.images()});
}

/// The checked images of an array on the GPU, spread over the batch.
std::vector<double> fetch_checked(const float* from, const ImageShape& shape) {
  std::vector<double> images;
  const std::int64_t count = checked_images(shape);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t image = k * shape.images() / count;
    const std::vector<float> pixels =
        fetched(from + image * shape.pixels(), static_cast<std::size_t>(shape.pixels()));
    images.insert(images.end(), pixels.begin(), pixels.end());
  }
  return images;
}

std::vector<double> fetch_wide(const float* from, std::int64_t count) {
  const std::vector<float> values = fetched(from, static_cast<std::size_t>(count));
  return {values.begin(), values.end()};
}

/// Each pass is a solve, whose error carries over to the next ones.
int solves(const ImageCase& c) {
  return 2 * c.saved_iterations();
}

double objective(const ImageShape& shape, double lam, std::span<const double> x,
                 std::span<const double> y) {
  const auto width = static_cast<std::size_t>(shape.width);
  double distance = 0;
  double variation = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    distance += (y[i] - x[i]) * (y[i] - x[i]);
    if (i % width != 0) variation += std::abs(y[i] - y[i - 1]);
    if (i >= width) variation += std::abs(y[i] - y[i - width]);
  }
  return distance / 2 + lam * variation;
}

/// The largest gap, as a fraction of the image's objective.
double check_gaps(const ImageCase& c, const tautstring::Problem2d& problem,
                  std::span<const double> x, const std::vector<double>& y,
                  const tautstring::Context& context) {
  const auto pixels = static_cast<std::size_t>(c.shape.pixels());
  std::vector<double> gaps(y.size() / pixels);
  tautstring::check(tautstring::gap2d(
      problem, {.y = view_of(y.data(), tautstring::Sizes(std::span(problem.x.shape).first<3>()))},
      gaps, context));
  double largest = 0;
  for (std::size_t image = 0; image < gaps.size(); ++image) {
    const double whole = objective(c.shape, c.lam, x.subspan(image * pixels, pixels),
                                   std::span(y).subspan(image * pixels, pixels));
    const double allowed = kGapSlack * c.solver.tol * whole;
    if (!(gaps[image] <= allowed)) throw_wrong("y by its gap", gaps[image], allowed);
    largest = std::max(largest, gaps[image] / whole);
  }
  return largest;
}

/// The CPU's derivatives with one lam per edge, line by line.
struct LineTerms {
  const char* what;
  std::vector<double> terms;
  std::int64_t edges;  // of a line
};

void check_lam_gradients(const float* given, const LineTerms& right, int solves, double range) {
  const auto edges = static_cast<std::size_t>(right.edges);
  const std::vector<double> sums =
      fetch_wide(given, static_cast<std::int64_t>(right.terms.size()) / right.edges);
  for (std::size_t line = 0; line < sums.size(); ++line) {
    compare_sum<float>(right.what, sums[line], std::span(right.terms).subspan(line * edges, edges),
                       solves, range);
  }
}

}  // namespace

double check_images(const ImageCase& c, const SolvedImages& solved) {
  const ImageShape& shape = c.shape;
  const std::vector<double> x = fetch_checked(solved.x, shape);
  const std::vector<double> y = fetch_checked(solved.y, shape);
  const tautstring::Sizes sizes = {checked_images(shape), shape.height, shape.width};
  const tautstring::Problem2d problem = {
      .x = view_of(x.data(), sizes), .lam_rows = c.lam, .lam_cols = c.lam};
  tautstring::ThreadExecutor threads;
  const tautstring::Context context = {.executor = &threads};
  if (c.solver.tol > 0) return check_gaps(c, problem, x, y, context);
  std::vector<double> right(x.size());
  tautstring::check(
      tautstring::prox_tv2d(problem, c.solver, {.y = view_of(right.data(), sizes)}, context));
  return compare<float>("y", right, y, x, static_cast<std::size_t>(shape.pixels()), solves(c));
}

double check_image_gradients(const ImageCase& c, const ImageGradients& gradients) {
  const ImageShape& shape = c.shape;
  const std::int64_t height = shape.height;
  const std::int64_t width = shape.width;
  const std::vector<double> grad_y = fetch_wide(gradients.grad_y, shape.elements());
  const std::vector<std::uint32_t> partitions =
      fetched(gradients.partitions.data(), gradients.partitions.size());
  const std::vector<double> momentum =
      fetched(gradients.momentum.data(), gradients.momentum.size());
  std::vector<double> right(grad_y.size());
  LineTerms rows = {"grad_lam_rows", {}, width - 1};
  LineTerms columns = {"grad_lam_cols", {}, height - 1};
  rows.terms.resize(static_cast<std::size_t>(shape.images() * height * rows.edges));
  columns.terms.resize(static_cast<std::size_t>(shape.images() * width * columns.edges));
  const tautstring::Sizes sizes = {shape.images(), height, width};
  tautstring::ThreadExecutor threads;
  tautstring::check(tautstring::prox_tv2d_backward(
      {.partitions = partitions,
       .momentum = momentum,
       .iterations = c.solver.iterations,
       .derivative = c.solver.derivative},
      view_of(grad_y.data(), sizes),
      {.x = view_of(right.data(), sizes),
       .lam_rows = view_of(rows.terms.data(), {shape.images(), height, rows.edges}),
       .lam_cols = tautstring::view(columns.terms.data(), {shape.images(), columns.edges, width},
                                    {width * columns.edges, 1, columns.edges})},
      {.executor = &threads}));
  const double range = range_of(grad_y);
  check_lam_gradients(gradients.grad_lam_rows, rows, solves(c), range);
  check_lam_gradients(gradients.grad_lam_cols, columns, solves(c), range);
  const std::vector<double> grad_x = fetch_wide(gradients.grad_x, shape.elements());
  return compare<float>("grad_x", right, grad_x, grad_y, static_cast<std::size_t>(shape.pixels()),
                        solves(c));
}

}  // namespace bench
