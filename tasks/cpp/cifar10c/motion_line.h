// Motion along a line, as ImageMagick blurs it: Gaussian weights on one side only, pixels at whole
// coordinates, the nearest one outside the image, and a result rounded to bytes.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "cifar10c/borders.h"
#include "cifar10c/pixels.h"
#include "support/elementary.h"

namespace tautstring_tasks::cifar10c {

class MotionLine {
 public:
  MotionLine(int radius, double sigma) : weights_(to_index(2 * radius + 1)) {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto distance = static_cast<double>(i);
      weights_[i] = exponential(-distance * distance / (2 * sigma * sigma));
      sum += weights_[i];
    }
    for (double& weight : weights_) weight /= sum;
  }

  /// `image` and `result` have a byte per pixel or per colour of each, and are not the same.
  template <std::size_t values>
  void apply(std::span<const std::uint8_t, values> image, double degrees,
             std::span<std::uint8_t, values> result) const {
    constexpr int depth = static_cast<int>(values) / kPixels;
    const double angle = degrees * std::numbers::pi / 180;
    const double along_x = cosine(angle);
    const double along_y = sine(angle);
    std::array<double, values> sums = {};
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto distance = static_cast<double>(i);
      const int shift_x = static_cast<int>(std::ceil(distance * along_x - 0.5));
      const int shift_y = static_cast<int>(std::ceil(distance * along_y - 0.5));
      for (int y = 0; y < kSize; ++y) {
        const std::size_t row = pixel_at(NearestBorder::inside(y + shift_y, kSize), 0) * depth;
        double* const out = &sums[pixel_at(y, 0) * depth];
        std::array<double, to_index(kSize * depth)> shifted;
        for (int x = 0; x < kSize; ++x) {
          const auto from = to_index(NearestBorder::inside(x + shift_x, kSize));
          for (std::size_t c = 0; c < depth; ++c) {
            shifted[to_index(x) * depth + c] = image[row + from * depth + c];
          }
        }
        for (std::size_t k = 0; k < shifted.size(); ++k) out[k] += weights_[i] * shifted[k];
      }
    }
    for (std::size_t i = 0; i < values; ++i) {
      result[i] = static_cast<std::uint8_t>(std::floor(std::clamp(sums[i], 0.0, 255.0) + 0.5));
    }
  }

 private:
  std::vector<double> weights_;
};

}  // namespace tautstring_tasks::cifar10c
