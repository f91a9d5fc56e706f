// Rows and columns of interleaved pixels as strided views: no transposes, no
// copies, and alpha is left out by the shape alone. Alpha is the data weight: a
// pixel that nobody sees is a missing sample.
#include "image_tv.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
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

/// `pixel` values lie between neighbours in a row.
AxisShape shape_of(const Image& image, Axis axis, std::int64_t pixel) {
  const std::int64_t row = pixel * image.width;
  if (axis == Axis::rows) return {image.height, row, image.width, pixel};
  return {image.width, pixel, image.height, row};
}

/// View of shape (lines, colour bands, length) over the pixels.
template <class Pixel>
auto lines_of(const Image& image, Pixel* pixels, Axis axis) {
  const AxisShape shape = shape_of(image, axis, image.bands);
  return view(pixels, {shape.lines, image.colour_bands(), shape.length},
              {shape.line_stride, 1, shape.sample_stride});
}

/// What alpha says about the lines along an axis.
struct Visibility {
  std::vector<float> alpha;     // of each pixel, 0 to 1; 1 on lines that nobody sees
  std::vector<double> visible;  // for each line 1, or 0 where it is transparent all along
  ConstView weight;             // alpha as data weight; not given where all pixels count alike
};

/// Alpha 0 to 1. Floating point images may hold anything: what is next to
/// invisible is invisible, which keeps weights within the range that the library takes.
std::vector<float> alpha_of(const Image& image) {
  constexpr float least = 0x1p-24F;
  const auto bands = static_cast<std::size_t>(image.bands);
  std::vector<float> alpha(image.pixels.size() / bands);
  for (std::size_t i = 0; i < alpha.size(); ++i) {
    const float value = image.pixels[(i + 1) * bands - 1] / image.full_scale();
    alpha[i] = value < least ? 0.0F : std::min(value, 1.0F);
  }
  return alpha;
}

Visibility visibility_of(const Image& image, Axis axis) {
  const AxisShape shape = shape_of(image, axis, 1);
  Visibility result;
  result.visible.assign(static_cast<std::size_t>(shape.lines), 1.0);
  if (!image.has_alpha()) return result;
  result.alpha = alpha_of(image);
  const auto [least, most] = std::minmax_element(result.alpha.begin(), result.alpha.end());
  if (*least == *most && *least > 0) return result;
  for (std::int64_t line = 0; line < shape.lines; ++line) {
    float* const first = &result.alpha[static_cast<std::size_t>(line * shape.line_stride)];
    float most_visible = 0;
    for (std::int64_t i = 0; i < shape.length; ++i) {
      most_visible = std::max(most_visible, first[i * shape.sample_stride]);
    }
    if (most_visible > 0) continue;
    result.visible[static_cast<std::size_t>(line)] = 0;
    for (std::int64_t i = 0; i < shape.length; ++i) first[i * shape.sample_stride] = 1;
  }
  result.weight = view(std::as_const(result.alpha).data(), {shape.lines, 1, shape.length},
                       {shape.line_stride, 0, shape.sample_stride});
  return result;
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
  if (task.lam == 0) return;  // also where pixels are invisible, which would be filled in
  const auto full_scale = static_cast<double>(image.full_scale());
  const auto apply_along = [&](Axis axis) {
    const View lines = lines_of(image, image.pixels.data(), axis);
    const Visibility visibility = visibility_of(image, axis);
    std::vector<double> lam(visibility.visible.size());
    std::transform(visibility.visible.begin(), visibility.visible.end(), lam.begin(),
                   [&](double visible) { return visible > 0 ? task.lam * full_scale : 0.0; });
    const Problem1d problem = {.x = lines,
                               .lam = view(lam.data(), {lines.shape[0], 1, 1}),
                               .weight = visibility.weight,
                               .mode = task.mode};
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
  const Visibility visibility = visibility_of(image, axis);
  const std::vector<double> values =
      measure_lines(image, axis, [&](const ConstView& lines, const View& out) {
        return lam_max(lines, out, visibility.weight, -1, {.executor = &executor});
      });
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t line = i / static_cast<std::size_t>(image.colour_bands());
    largest = std::max(largest, values[i] * visibility.visible[line]);
  }
  return largest / static_cast<double>(image.full_scale());
}

double pair_count(const Image& image, Axis axis) {
  const AxisShape shape = shape_of(image, axis, image.bands);
  return static_cast<double>(shape.lines) * static_cast<double>(shape.length - 1) *
         image.colour_bands();
}

}  // namespace tautline::cli
