#include "localise/heat.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace tautstring_tasks::localise {
namespace {

constexpr float kA = -0.75F;
constexpr std::size_t kTaps = 4;

/// The pixels of a side that a new pixel is computed from, and how much each counts.
struct Taps {
  std::array<std::size_t, kTaps> places;
  std::array<float, kTaps> weights;
};

std::vector<Taps> taps_of(int from, int to) {
  // The reciprocal of the ratio, as in OpenCV: it may differ from the other ratio by rounding.
  const double scale = 1.0 / (static_cast<double>(to) / from);
  std::vector<Taps> taps(to_index(to));
  for (int i = 0; i < to; ++i) {
    const auto at = static_cast<float>((i + 0.5) * scale - 0.5);
    const float before = std::floor(at);
    const float x = at - before;
    const float y = 1 - x;
    Taps& tap = taps[to_index(i)];
    tap.weights[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
    tap.weights[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
    tap.weights[2] = ((kA + 2) * y - (kA + 3)) * y * y + 1;
    tap.weights[3] = 1 - tap.weights[0] - tap.weights[1] - tap.weights[2];
    for (int k = 0; k < static_cast<int>(kTaps); ++k) {
      tap.places[to_index(k)] = to_index(std::clamp(static_cast<int>(before) - 1 + k, 0, from - 1));
    }
  }
  return taps;
}

}  // namespace

NewFloats resized(Floats map, Size from, Size to) {
  if (map.size() != from.pixels() || map.empty()) {
    throw std::invalid_argument("map: does not have its size, or is empty");
  }
  const auto width = to_index(to.width);
  NewFloats rows(to_index(from.height) * width);  // in the new width
  const std::vector<Taps> along = taps_of(from.width, to.width);
  for (std::size_t y = 0; y < to_index(from.height); ++y) {
    const float* const source = &map[y * to_index(from.width)];
    for (std::size_t x = 0; x < width; ++x) {
      const auto& [places, weights] = along[x];
      rows[y * width + x] = source[places[0]] * weights[0] + source[places[1]] * weights[1] +
                            source[places[2]] * weights[2] + source[places[3]] * weights[3];
    }
  }
  NewFloats result(to.pixels());
  const std::vector<Taps> down = taps_of(from.height, to.height);
  for (std::size_t y = 0; y < to_index(to.height); ++y) {
    const auto& [places, weights] = down[y];
    const float* const a = &rows[places[0] * width];
    const float* const b = &rows[places[1] * width];
    const float* const c = &rows[places[2] * width];
    const float* const d = &rows[places[3] * width];
    for (std::size_t x = 0; x < width; ++x) {
      // OpenCV's order of the sum.
      result[y * width + x] =
          a[x] * weights[0] + (b[x] * weights[1] + (c[x] * weights[2] + d[x] * weights[3]));
    }
  }
  return result;
}

NewFloats stretched(NewFloats map) {
  const auto [low, high] = std::minmax_element(map.begin(), map.end());
  const float least = *low;
  const float range = *high - least;
  const bool is_finite =
      std::all_of(map.begin(), map.end(), [](float each) { return std::isfinite(each); });
  if (!is_finite || !std::isfinite(range) || range == 0) return NewFloats(map.size());
  for (float& each : map) each = (each - least) / range;
  return map;
}

NewBytes to_bytes(Floats map) {
  NewBytes bytes(map.size());
  std::transform(map.begin(), map.end(), bytes.begin(),
                 [](float each) { return static_cast<std::uint8_t>(each * 255); });
  return bytes;
}

}  // namespace tautstring_tasks::localise
