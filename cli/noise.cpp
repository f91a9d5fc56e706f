#include "noise.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace tautstring::cli {
namespace {

/// The median absolute value of a normal distribution with standard deviation 1.
constexpr double kNormalMedian = 0.67449;

/// The standard deviation of normal values from their magnitudes. Magnitudes of whole numbers have
/// steps; each then stands for all numbers that round to it.
std::optional<double> deviation_of(std::vector<float>& magnitudes, double step) {
  if (magnitudes.empty()) return std::nullopt;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  const float found = *middle;
  if (found == 0) return 0;
  const auto below =
      std::count_if(magnitudes.begin(), magnitudes.end(), [&](float m) { return m < found; });
  const auto equal = std::count(magnitudes.begin(), magnitudes.end(), found);
  const double half = static_cast<double>(magnitudes.size()) / 2;
  const double within = (half - static_cast<double>(below)) / static_cast<double>(equal);
  return (static_cast<double>(found) + step * (within - 0.5)) / kNormalMedian;
}

}  // namespace

std::optional<double> noise_of(const Image& image) {
  const auto at = [&](int row, int column, int band) {
    const std::size_t pixel =
        static_cast<std::size_t>(row) * static_cast<std::size_t>(image.width) +
        static_cast<std::size_t>(column);
    return image
        .pixels[pixel * static_cast<std::size_t>(image.bands) + static_cast<std::size_t>(band)];
  };
  const auto is_visible = [&](int row, int column) {
    if (!image.has_alpha()) return true;
    const int alpha = image.bands - 1;
    return at(row, column, alpha) > 0 && at(row, column + 1, alpha) > 0 &&
           at(row + 1, column, alpha) > 0 && at(row + 1, column + 1, alpha) > 0;
  };
  std::vector<float> magnitudes;
  for (int row = 0; row + 1 < image.height; row += 2) {
    for (int column = 0; column + 1 < image.width; column += 2) {
      if (!is_visible(row, column)) continue;
      for (int band = 0; band < image.colour_bands(); ++band) {
        const float twist = at(row, column, band) - at(row, column + 1, band) -
                            at(row + 1, column, band) + at(row + 1, column + 1, band);
        if (std::isfinite(twist)) magnitudes.push_back(std::abs(twist) / 2);
      }
    }
  }
  const std::optional<double> noise = deviation_of(magnitudes, image.bits == 32 ? 0 : 0.5);
  if (!noise) return std::nullopt;
  return *noise / static_cast<double>(image.full_scale());
}

std::optional<double> noise_of(const Signal& signal, int dim) {
  const auto& shape = signal.samples.shape;
  if (shape.empty() || signal.samples.count() == 0) return std::nullopt;
  const auto along = static_cast<std::size_t>(dim < 0 ? dim + static_cast<int>(shape.size()) : dim);
  const std::int64_t stride = signal.samples.strides()[along];
  constexpr double kBendOfUnitNoise = 2.449489742783178;  // sqrt(1 + 4 + 1)
  std::vector<float> magnitudes;
  for (std::int64_t i = 0; i < signal.samples.count(); ++i) {
    if (i / stride % shape[along] + 2 >= shape[along]) continue;
    const double bend = signal.samples.at(i) - 2 * signal.samples.at(i + stride) +
                        signal.samples.at(i + 2 * stride);
    if (std::isfinite(bend)) {
      magnitudes.push_back(static_cast<float>(std::abs(bend) / kBendOfUnitNoise));
    }
  }
  return deviation_of(magnitudes, 0);
}

}  // namespace tautstring::cli
