// Elastic transform: an affine map given by three points that move at random, then random shifts of
// all pixels, smoothed by a Gaussian. Both steps interpolate between pixels, the first in float32.
//
// OpenCV rounded the coordinates of an affine map to 1/32 pixel in the versions of the original;
// they are exact here, as in OpenCV 5.
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>

#include "cifar10c/borders.h"
#include "cifar10c/families.h"
#include "cifar10c/gaussian_filter.h"

namespace tautstring_tasks::cifar10c {
namespace {

/// Shares of the image's size.
struct Rubber {
  double shift;   // of pixels, before smoothing
  double sigma;   // of the smoothing
  double jitter;  // of the points
};

struct Point {
  double y, x;
};

constexpr int kPoints = 3;
constexpr int kNear = kSize / 2 - kSize / 3;  // the points' coordinates
constexpr int kFar = kSize / 2 + kSize / 3;

/// Interpolates between four pixels.
template <class Border>
void sample(const Colours<float>& image, const Point& at, float* result) {
  const double floor_y = std::floor(at.y);
  const double floor_x = std::floor(at.x);
  const double down = at.y - floor_y;
  const double right = at.x - floor_x;
  const int y = static_cast<int>(floor_y);
  const int x = static_cast<int>(floor_x);
  const int rows[] = {Border::inside(y, kSize), Border::inside(y + 1, kSize)};
  const int columns[] = {Border::inside(x, kSize), Border::inside(x + 1, kSize)};
  for (int c = 0; c < kColours; ++c) {
    const auto value = [&](int i, int k) -> double {
      return image[value_at(rows[i], columns[k], c)];
    };
    const double upper = value(0, 0) * (1 - right) + value(0, 1) * right;
    const double lower = value(1, 0) * (1 - right) + value(1, 1) * right;
    result[c] = static_cast<float>(upper * (1 - down) + lower * down);
  }
}

/// Where the pixels of an image go when three points move: (far, far), (far, near) and (near, near)
/// as (x, y).
class Affine {
 public:
  explicit Affine(const std::array<Point, kPoints>& moved) : origin_(moved[2]) {
    constexpr double side = kFar - kNear;
    per_x_ = {(moved[1].y - moved[2].y) / side, (moved[1].x - moved[2].x) / side};
    per_y_ = {(moved[0].y - moved[1].y) / side, (moved[0].x - moved[1].x) / side};
  }

  /// The place that goes to a pixel.
  [[nodiscard]] Point source_of(int y, int x) const {
    const double determinant = per_y_.y * per_x_.x - per_x_.y * per_y_.x;
    const double dy = y - origin_.y;
    const double dx = x - origin_.x;
    return {kNear + (dy * per_x_.x - dx * per_x_.y) / determinant,
            kNear + (dx * per_y_.y - dy * per_y_.x) / determinant};
  }

 private:
  Point origin_;  // where (near, near) goes
  Point per_y_, per_x_;
};

class ElasticTransform final : public Corruption {
 public:
  explicit ElasticTransform(const Rubber& rubber)
      : shift_(kSize * rubber.shift), jitter_(kSize * rubber.jitter) {
    if (shift_ > 0) filter_.emplace(kSize * rubber.sigma, 3);
  }

  [[nodiscard]] RandomCounts random_counts() const override {
    return {.uniforms = 2 * kPoints + (filter_ ? 2 * kPixels : 0)};
  }

  void apply(Image image, std::span<const double> random, Result result) const override {
    const Affine affine(moved_points(random));
    const Colours<float> values = scaled<float>(image);
    Colours<float> mapped;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        sample<MirrorBorder>(values, affine.source_of(y, x), &mapped[value_at(y, x, 0)]);
      }
    }
    if (!filter_) return store(mapped, result);
    const Plane<float> shifts_x = shifts(random.subspan(to_index(2 * kPoints), kPixels));
    const Plane<float> shifts_y = shifts(random.subspan(2 * kPoints + kPixels, kPixels));
    Colours<float> shifted;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        const std::size_t i = pixel_at(y, x);
        const Point at = {y + static_cast<double>(shifts_y[i]),
                          x + static_cast<double>(shifts_x[i])};
        sample<ReflectBorder>(mapped, at, &shifted[i * kColours]);
      }
    }
    store(shifted, result);
  }

 private:
  [[nodiscard]] std::array<Point, kPoints> moved_points(std::span<const double> random) const {
    std::array<Point, kPoints> points = {{{kFar, kFar}, {kNear, kFar}, {kNear, kNear}}};
    for (std::size_t i = 0; i < kPoints; ++i) {
      const auto moved = [&](double from, double u) -> double {
        return static_cast<float>(from) + static_cast<float>(-jitter_ + 2 * jitter_ * u);
      };
      points[i] = {moved(points[i].y, random[2 * i + 1]), moved(points[i].x, random[2 * i])};
    }
    return points;
  }

  [[nodiscard]] Plane<float> shifts(std::span<const double> random) const {
    Plane<double> field;
    for (std::size_t i = 0; i < kPixels; ++i) field[i] = -1 + 2 * random[i];
    filter_->apply(field);
    Plane<float> result;
    for (std::size_t i = 0; i < kPixels; ++i) result[i] = static_cast<float>(field[i] * shift_);
    return result;
  }

  double shift_;
  double jitter_;
  std::optional<GaussianFilter<ReflectBorder>> filter_;  // none without shifts
};

}  // namespace

Made make_elastic_transform(int severity) {
  constexpr PerSeverity<Rubber> constants = {
      {{0, 0, .08}, {.05, .2, .07}, {.08, .06, .06}, {.1, .04, .05}, {.1, .03, .03}}};
  return std::make_unique<ElasticTransform>(constant_of(constants, severity));
}

}  // namespace tautstring_tasks::cifar10c
