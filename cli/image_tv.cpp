// Rows and columns of interleaved pixels as strided views: no transposes, no
// copies, and alpha is left out by the shape alone.
#include "image_tv.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tautline/error.h"

namespace tautline::cli {
namespace {

struct AxisShape {
  std::int64_t lines;  // how many rows (or columns) there are
  std::int64_t line_stride;
  std::int64_t length;  // samples of each
  std::int64_t sample_stride;
};

AxisShape shape_of(const Image& image, Axis axis) {
  const std::int64_t pixel = image.bands;
  const std::int64_t row = pixel * image.width;
  if (axis == Axis::rows) return {image.height, row, image.width, pixel};
  return {image.width, pixel, image.height, row};
}

/// View of shape (lines, colour bands, length) over the pixels.
template <class Pixel>
auto lines_of(const Image& image, Pixel* pixels, Axis axis) {
  const AxisShape shape = shape_of(image, axis);
  return view(pixels, {shape.lines, image.colour_bands(), shape.length},
              {shape.line_stride, 1, shape.sample_stride});
}

/// One number for every line of every colour band, as `measure` computes it.
template <class Measure>
std::vector<double> measure_lines(const Image& image, Axis axis, Measure measure) {
  const ConstView lines = lines_of(image, image.pixels.data(), axis);
  std::vector<double> values(static_cast<std::size_t>(lines.shape[0] * lines.shape[1]));
  check(measure(lines, view(values.data(), {lines.shape[0], lines.shape[1], 1})));
  return values;
}

}  // namespace

void apply(const ImageTask& task, Image& image, Executor& executor) {
  const auto apply_along = [&](Axis axis) {
    const View lines = lines_of(image, image.pixels.data(), axis);
    const Problem1d problem = {
        .x = lines, .lam = task.lam * static_cast<double>(image.full_scale()), .mode = task.mode};
    check(prox_tv1d(problem, lines, {}, {.executor = &executor}));
  };
  if (task.direction != Direction::col) apply_along(Axis::rows);
  if (task.direction != Direction::row) apply_along(Axis::cols);
}

double total_variation(const Image& image, Axis axis, Executor& executor) {
  const std::vector<double> values =
      measure_lines(image, axis, [&](const ConstView& lines, const View& out) {
        return tv(lines, out, -1, {.executor = &executor});
      });
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(image.full_scale());
}

double largest_lam_max(const Image& image, Axis axis, Executor& executor) {
  const std::vector<double> values =
      measure_lines(image, axis, [&](const ConstView& lines, const View& out) {
        return lam_max(lines, out, {}, -1, {.executor = &executor});
      });
  return *std::max_element(values.begin(), values.end()) / static_cast<double>(image.full_scale());
}

double pair_count(const Image& image, Axis axis) {
  const AxisShape shape = shape_of(image, axis);
  return static_cast<double>(shape.lines) * static_cast<double>(shape.length - 1) *
         image.colour_bands();
}

}  // namespace tautline::cli
