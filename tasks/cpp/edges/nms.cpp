// After Dollar's edge toolbox: the direction across an edge is taken from the second derivatives of
// the smoothed map. It needs no trigonometry: with t = tan(angle) the direction is
// (1, t) / sqrt(1 + t^2), up to its sign, which does not matter since both sides are compared. So
// all arithmetic is that of IEEE 754, and results are the same on every machine.
#include "edges/nms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace tautstring_tasks::edges {
namespace {

constexpr int kSmoothing = 4;               // radius of the triangle filter
constexpr double kNoDivisionByZero = 1e-5;  // the toolbox's
// The toolbox interpolates between a pixel and the next one; so a place stays this far off the end.
constexpr double kBeforeTheEnd = 1.001;

using Plane = std::vector<double>;
/// One row or column of a plane.
struct Line {
  std::size_t first;
  std::size_t stride;
  int length;

  [[nodiscard]] std::size_t at(int i) const { return first + to_index(i) * stride; }
};

template <class Function>
void for_rows(Size size, const Function& function) {
  const auto width = to_index(size.width);
  for (int y = 0; y < size.height; ++y) function(Line{to_index(y) * width, 1, size.width});
}

template <class Function>
void for_columns(Size size, const Function& function) {
  const auto width = to_index(size.width);
  for (int x = 0; x < size.width; ++x) function(Line{to_index(x), width, size.height});
}

/// A mirror beyond the edge: c b a | a b c d | d c b.
int mirrored(int i, int length) {
  while (i < 0 || i >= length) i = i < 0 ? -i - 1 : 2 * length - i - 1;
  return i;
}

/// Convolves a line with 1 2 3 4 5 4 3 2 1 / 25.
void smooth(const Plane& from, Plane& to, const Line& line) {
  for (int i = 0; i < line.length; ++i) {
    double sum = 0;
    for (int d = -kSmoothing; d <= kSmoothing; ++d) {
      sum += (kSmoothing + 1 - std::abs(d)) * from[line.at(mirrored(i + d, line.length))];
    }
    to[line.at(i)] = sum / ((kSmoothing + 1) * (kSmoothing + 1));
  }
}

/// Differences along a line: central, and one-sided at its ends.
void differentiate(const Plane& from, Plane& to, const Line& line) {
  for (int i = 0; i < line.length; ++i) {
    const int before = std::max(i - 1, 0);
    const int after = std::min(i + 1, line.length - 1);
    const double difference = from[line.at(after)] - from[line.at(before)];
    to[line.at(i)] = after > before ? difference / (after - before) : 0;
  }
}

Plane derivative_x(const Plane& from, Size size) {
  Plane to(from.size());
  for_rows(size, [&](const Line& line) { differentiate(from, to, line); });
  return to;
}

Plane derivative_y(const Plane& from, Size size) {
  Plane to(from.size());
  for_columns(size, [&](const Line& line) { differentiate(from, to, line); });
  return to;
}

Plane smoothed(std::span<const float> map, Size size) {
  Plane values(map.begin(), map.end());
  Plane other(values.size());
  for_rows(size, [&](const Line& line) { smooth(values, other, line); });
  for_columns(size, [&](const Line& line) { smooth(other, values, line); });
  return values;
}

/// The place between pixels from which to interpolate: the first pixel, and the share of the next.
struct Place {
  int first;
  int next;
  double share;
};

Place place_of(double at, int length) {
  at = std::clamp(at, 0.0, std::max(length - kBeforeTheEnd, 0.0));
  const int first = static_cast<int>(at);
  return {.first = first, .next = std::min(first + 1, length - 1), .share = at - first};
}

double interpolated(std::span<const float> map, Size size, double x, double y) {
  const Place column = place_of(x, size.width);
  const Place row = place_of(y, size.height);
  const auto value = [&](int r, int c) {
    return static_cast<double>(map[to_index(r) * to_index(size.width) + to_index(c)]);
  };
  return value(row.first, column.first) * (1 - column.share) * (1 - row.share) +
         value(row.first, column.next) * column.share * (1 - row.share) +
         value(row.next, column.first) * (1 - column.share) * row.share +
         value(row.next, column.next) * column.share * row.share;
}

/// The direction across an edge, from the map's second derivatives.
std::array<double, 2> direction(double xx, double xy, double yy) {
  const double sign = xy < 0 ? 1 : xy > 0 ? -1 : 0;
  const double numerator = yy * sign;
  const double denominator = xx + kNoDivisionByZero;
  const double length = std::sqrt(numerator * numerator + denominator * denominator);
  if (length == 0) return {1, 0};
  return {denominator / length, numerator / length};
}

/// The factor of a pixel near the border.
double damping(int i, int length, int border) {
  const int distance = std::min(i, length - 1 - i);
  return distance < border ? static_cast<double>(distance) / border : 1;
}

void check(std::span<const float> map, Size size, const NmsOptions& options) {
  const auto must = [](const std::string& what, double got) {
    throw std::invalid_argument(what + ", got " + std::to_string(got));
  };
  if (options.radius < 1) must("radius: must be at least 1", options.radius);
  if (options.border < 0) must("border: must be at least 0", options.border);
  if (!(options.factor > 0 && std::isfinite(options.factor))) {
    must("factor: must be above 0 and finite", options.factor);
  }
  if (map.size() != size.pixels()) {
    must("map: must have height x width values", static_cast<double>(map.size()));
  }
  for (const float value : map) {
    if (!(value >= 0 && value <= 1)) must("map: values must be in [0, 1]", value);
  }
}

}  // namespace

NewBytes suppress(std::span<const float> map, Size size, const NmsOptions& options) {
  check(map, size, options);
  const Plane smooth_map = smoothed(map, size);
  const Plane along_y = derivative_y(smooth_map, size);
  const Plane xx = derivative_x(derivative_x(smooth_map, size), size);
  const Plane xy = derivative_x(along_y, size);
  const Plane yy = derivative_y(along_y, size);

  const int border_x = std::min(options.border, size.width / 2);
  const int border_y = std::min(options.border, size.height / 2);
  NewBytes result(map.size());
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const std::size_t i = to_index(y) * to_index(size.width) + to_index(x);
      const double value = map[i];
      if (value == 0) continue;
      const auto [step_x, step_y] = direction(xx[i], xy[i], yy[i]);
      bool is_maximum = true;
      for (int d = -options.radius; d <= options.radius && is_maximum; ++d) {
        is_maximum = d == 0 || options.factor * value >=
                                   interpolated(map, size, x + d * step_x, y + d * step_y);
      }
      if (!is_maximum) continue;
      const double damped =
          value * damping(x, size.width, border_x) * damping(y, size.height, border_y);
      result[i] = static_cast<std::uint8_t>(std::floor(damped * 255 + 0.5));
    }
  }
  return result;
}

}  // namespace tautstring_tasks::edges
