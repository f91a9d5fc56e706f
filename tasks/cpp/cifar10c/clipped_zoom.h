// The middle of an image, enlarged to the size of the image, as SciPy's zoom of order 1 does it:
// the corners of the crop stay corners, and what is too large is trimmed.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include "cifar10c/pixels.h"

namespace tautstring_tasks::cifar10c {

class ClippedZoom {
 public:
  /// The factor is at least 1.
  explicit ClippedZoom(double factor) {
    const int crop = static_cast<int>(std::ceil(kSize / factor));
    const int enlarged = static_cast<int>(std::nearbyint(crop * factor));
    const int start = (kSize - crop) / 2;
    const int trim = (enlarged - kSize) / 2;
    const double step = static_cast<double>(crop - 1) / (enlarged - 1);
    for (int i = 0; i < kSize; ++i) {
      const double at = (trim + i) * step;
      const int floor = static_cast<int>(at);
      Tap& tap = taps_[to_index(i)];
      // A coordinate that rounding puts past the last pixel is outside for SciPy: 0 there.
      const bool is_outside = at > crop - 1;
      tap.first = start + std::min(floor, crop - 1);
      tap.second = start + std::min(floor + 1, crop - 1);
      tap.second_weight = is_outside ? 0 : at - floor;
      tap.first_weight = is_outside ? 0 : 1 - tap.second_weight;
    }
  }

  /// `image` and `result` have a value per pixel or per colour of each.
  template <class T, std::size_t values>
  void apply(const std::array<T, values>& image, std::array<T, values>& result) const {
    constexpr std::size_t depth = values / kPixels;
    constexpr std::size_t width = kSize * depth;
    std::array<double, values> across;
    for (int y = taps_.front().first; y <= taps_.back().second; ++y) {
      const T* const row = &image[pixel_at(y, 0) * depth];
      double* out = &across[pixel_at(y, 0) * depth];
      for (const Tap& tap : taps_) {
        const T* const first = row + to_index(tap.first) * depth;
        const T* const second = row + to_index(tap.second) * depth;
        for (std::size_t c = 0; c < depth; ++c) {
          *out++ = first[c] * tap.first_weight + second[c] * tap.second_weight;
        }
      }
    }
    T* out = result.data();
    for (const Tap& tap : taps_) {
      const double* const first = &across[to_index(tap.first) * width];
      const double* const second = &across[to_index(tap.second) * width];
      for (std::size_t i = 0; i < width; ++i) {
        *out++ = static_cast<T>(first[i] * tap.first_weight + second[i] * tap.second_weight);
      }
    }
  }

 private:
  struct Tap {
    int first = 0;
    int second = 0;
    double first_weight = 0;
    double second_weight = 0;
  };
  std::array<Tap, kSize> taps_;  // for each row, and for each column
};

}  // namespace tautstring_tasks::cifar10c
