// A Gaussian filter as SciPy has it: sampled weights up to a number of standard deviations, columns
// first, then rows.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cifar10c/borders.h"
#include "cifar10c/pixels.h"
#include "support/elementary.h"

namespace tautstring_tasks::cifar10c {

template <class Border>
class GaussianFilter {
 public:
  /// The radius is `truncate` times `sigma`, rounded. `sigma` is above 0.
  GaussianFilter(double sigma, double truncate)
      : weights_(static_cast<std::size_t>(std::floor(truncate * sigma + 0.5)) + 1) {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto distance = static_cast<double>(i);
      weights_[i] = exponential(-0.5 / (sigma * sigma) * distance * distance);
      sum += i == 0 ? weights_[i] : 2 * weights_[i];
    }
    for (double& weight : weights_) weight /= sum;
  }

  /// Filters values of `depth` colours in place.
  template <std::size_t values>
  void apply(std::array<double, values>& image) const {
    constexpr int depth = static_cast<int>(values) / kPixels;
    constexpr int width = kSize * depth;
    const int radius = static_cast<int>(weights_.size()) - 1;
    if (radius == 0) return;
    std::array<double, values> down;
    for (int y = 0; y < kSize; ++y) {
      double* const out = &down[to_index(y * width)];
      const double* const in = &image[to_index(y * width)];
      for (int i = 0; i < width; ++i) out[i] = in[i] * weights_[0];
      for (int k = radius; k > 0; --k) {
        const double weight = weights_[to_index(k)];
        const int above = Border::inside(y - k, kSize) * width;
        const int below = Border::inside(y + k, kSize) * width;
        const double* const one = &image[to_index(above)];
        const double* const other = &image[to_index(below)];
        for (int i = 0; i < width; ++i) out[i] += (one[i] + other[i]) * weight;
      }
    }
    std::vector<double> row(to_index((kSize + 2 * radius) * depth));
    for (int y = 0; y < kSize; ++y) {
      const double* const in = &down[to_index(y * width)];
      for (int x = -radius; x < kSize + radius; ++x) {
        const double* const pixel = in + Border::inside(x, kSize) * depth;
        std::copy(pixel, pixel + depth, &row[to_index((x + radius) * depth)]);
      }
      const double* const middle = &row[to_index(radius * depth)];
      double* const out = &image[to_index(y * width)];
      for (int i = 0; i < width; ++i) out[i] = middle[i] * weights_[0];
      for (int k = radius; k > 0; --k) {
        const double weight = weights_[to_index(k)];
        const std::ptrdiff_t shift = std::ptrdiff_t{k} * depth;
        const double* const one = middle - shift;
        const double* const other = middle + shift;
        for (int i = 0; i < width; ++i) out[i] += (one[i] + other[i]) * weight;
      }
    }
  }

 private:
  std::vector<double> weights_;  // from the middle outwards
};

}  // namespace tautstring_tasks::cifar10c
