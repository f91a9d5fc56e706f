// Rows, columns and colour bands of interleaved pixels as strided views: no transposes, no
// copies, and the shape leaves out alpha. Along lines, alpha is the data weight: an
// invisible pixel is a missing sample. Whole images have no data weights: there, lam is
// 0 on all edges of an invisible pixel, which separates it from its neighbours.
#include "image_tv.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tautstring/error.h"

namespace tautstring::cli {
namespace {

struct AxisShape {
  std::int64_t lines;  // number of rows (or columns)
  std::int64_t line_stride;
  std::int64_t length;  // samples of each
  std::int64_t sample_stride;
};

/// Neighbours in a row are `pixel` values apart.
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

/// The visibility, from alpha, of the lines along an axis.
struct Visibility {
  std::vector<float> alpha;     // of each pixel, 0 to 1; 1 on invisible lines
  std::vector<double> visible;  // for each line 1, or 0 if all of it is transparent
  ConstView weight;             // alpha as data weight; not given if all pixels count the same
};

/// Alpha from 0 to 1. Floating point images may contain anything: almost invisible pixels count
/// as invisible, which keeps weights within the range that the library supports.
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

/// One number per line of each colour band, computed by `measure`.
template <class Measure>
std::vector<double> measure_lines(const Image& image, Axis axis, Measure measure) {
  const ConstView lines = lines_of(image, image.pixels.data(), axis);
  std::vector<double> values(static_cast<std::size_t>(lines.shape[0] * lines.shape[1]));
  check(measure(lines, view(values.data(), {lines.shape[0], lines.shape[1], 1})));
  return values;
}

void apply_along(Axis axis, const ImageTask& task, Image& image, Executor& executor) {
  const double scaled_lam = task.lam * static_cast<double>(image.full_scale());
  const View lines = lines_of(image, image.pixels.data(), axis);
  const Visibility visibility = visibility_of(image, axis);
  std::vector<double> lam(visibility.visible.size());
  std::transform(visibility.visible.begin(), visibility.visible.end(), lam.begin(),
                 [&](double visible) { return visible > 0 ? scaled_lam : 0.0; });
  const Problem1d problem = {.x = lines,
                             .lam = view(lam.data(), {lines.shape[0], 1, 1}),
                             .weight = visibility.weight,
                             .mode = task.mode};
  check(prox_tv1d(problem, lines, {}, {.executor = &executor}));
}

/// The invisible pixels. Their colours are 0 during the lifetime of this object and are then
/// restored. Floating point images may contain anything there, and solutions are exact only
/// relative to the range of a line: a colour 1e16 times the others would spoil them.
class HiddenColours {
 public:
  explicit HiddenColours(Image& image) : image_(image) {
    if (!image.has_alpha()) return;
    const std::vector<float> alpha = alpha_of(image);
    for (std::size_t i = 0; i < alpha.size(); ++i) {
      if (alpha[i] == 0) pixels_.push_back(i);
    }
    colours_.reserve(pixels_.size() * static_cast<std::size_t>(image.colour_bands()));
    for_each_value([&](float& value) { colours_.push_back(std::exchange(value, 0.0F)); });
  }
  HiddenColours(const HiddenColours&) = delete;
  HiddenColours& operator=(const HiddenColours&) = delete;
  ~HiddenColours() {
    auto colour = colours_.begin();
    for_each_value([&](float& value) { value = *colour++; });
  }

  [[nodiscard]] const std::vector<std::size_t>& pixels() const noexcept { return pixels_; }

 private:
  template <class Use>
  void for_each_value(const Use& use) {
    for (const std::size_t pixel : pixels_) {
      for (int band = 0; band < image_.colour_bands(); ++band) {
        use(image_.pixels[pixel * static_cast<std::size_t>(image_.bands) +
                          static_cast<std::size_t>(band)]);
      }
    }
  }

  Image& image_;
  std::vector<std::size_t> pixels_;
  std::vector<float> colours_;
};

/// The lam of each pair of neighbours, stored at the first of the two.
class PairLams {
 public:
  /// `hidden` pixels have no lam to any neighbour.
  PairLams(double lam, const Image& image, const std::vector<std::size_t>& hidden)
      : lam_(lam), width_(image.width), height_(image.height) {
    if (hidden.empty()) return;
    const auto width = static_cast<std::size_t>(image.width);
    const std::size_t count = width * static_cast<std::size_t>(image.height);
    to_right_.assign(count, static_cast<float>(lam));
    to_below_.assign(count, static_cast<float>(lam));
    for (const std::size_t i : hidden) {
      to_right_[i] = to_below_[i] = 0;
      if (i >= 1) to_right_[i - 1] = 0;
      if (i >= width) to_below_[i - width] = 0;
    }
  }

  [[nodiscard]] Lam along_rows() const {
    if (to_right_.empty()) return lam_;
    return view(to_right_.data(), {1, height_, width_ - 1}, {0, width_, 1});
  }
  [[nodiscard]] Lam along_columns() const {
    if (to_below_.empty()) return lam_;
    return view(to_below_.data(), {1, height_ - 1, width_}, {0, width_, 1});
  }

 private:
  double lam_;
  std::int64_t width_;
  std::int64_t height_;
  std::vector<float> to_right_;  // empty if all are the same
  std::vector<float> to_below_;
};

Convergence apply_to_whole(const ImageTask& task, Image& image, Executor& executor) {
  const auto full_scale = static_cast<double>(image.full_scale());
  const HiddenColours hidden(image);
  const PairLams lams(task.lam * full_scale, image, hidden.pixels());
  const std::vector<float> before = image.pixels;
  const int bands = image.colour_bands();
  const auto pictures = [&](auto* pixels) {
    const std::int64_t row = std::int64_t{image.bands} * image.width;
    return view(pixels, {bands, image.height, image.width}, {1, row, image.bands});
  };
  std::vector<double> gaps(static_cast<std::size_t>(bands));
  std::vector<double> objectives(gaps.size());
  std::vector<std::uint8_t> converged(gaps.size());
  std::vector<std::int32_t> iterations(gaps.size());
  const Problem2d problem = {.x = pictures(before.data()),
                             .lam_rows = lams.along_rows(),
                             .lam_cols = lams.along_columns(),
                             .mode = task.mode};
  const Results2d results = {.y = pictures(image.pixels.data()),
                             .gap = gaps,
                             .objective = objectives,
                             .converged = converged,
                             .iterations = iterations};
  check(prox_tv2d(problem, task.solver, results, {.executor = &executor}));
  Convergence result;
  for (int band = 0; band < bands; ++band) {
    const auto b = static_cast<std::size_t>(band);
    constexpr double least = std::numeric_limits<double>::min();
    const double gap = std::isinf(gaps[b]) ? gaps[b] : gaps[b] / std::max(objectives[b], least);
    result.iterations = std::max(result.iterations, iterations[b]);
    result.gap = std::max(result.gap, gap);
    // Without a tolerance nothing is asked for that could be reached, but the optimum.
    const bool is_reached = task.solver.tol > 0 ? converged[b] != 0 : gaps[b] == 0;
    result.converged = result.converged && is_reached;
  }
  // Away from the solution, the objective grows at least as 1/2 |distance|^2.
  const std::size_t visible =
      before.size() / static_cast<std::size_t>(image.bands) - hidden.pixels().size();
  if (visible > 0) {
    const double gap = std::accumulate(gaps.begin(), gaps.end(), 0.0);
    result.rms_bound = std::sqrt(2 * gap / (static_cast<double>(visible) * bands)) / full_scale;
  }
  return result;
}

}  // namespace

std::optional<Convergence> apply(const ImageTask& task, Image& image, Executor& executor) {
  const bool is_whole = task.direction == Direction::image;
  // Nothing changes, not even invisible pixels, which the solvers of lines would fill in.
  if (task.lam == 0) return is_whole ? std::optional(Convergence{}) : std::nullopt;
  if (is_whole) return apply_to_whole(task, image, executor);
  apply_along(task.direction == Direction::row ? Axis::rows : Axis::cols, task, image, executor);
  return std::nullopt;
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

}  // namespace tautstring::cli
