// Brightness, in HSV with the arithmetic of scikit-image, and contrast.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

using Colour = std::array<double, kColours>;

/// Adds to the value (the largest colour), and keeps hue and saturation.
Colour brighter(const Colour& colour, double amount) {
  const auto [r, g, b] = colour;
  const double value = std::max({r, g, b});
  const double range = value - std::min({r, g, b});
  const double brightened = std::clamp(value + amount, 0.0, 1.0);
  if (range == 0) return {brightened, brightened, brightened};
  // Of several largest colours the last one counts.
  const double sector = b == value   ? 4 + (r - g) / range
                        : g == value ? 2 + (b - r) / range
                                     : (g - b) / range;
  double hue = sector / 6;
  hue -= std::floor(hue);
  const double saturation = range / value;
  const double place = hue * 6;
  const double whole = std::floor(place);
  const double rest = place - whole;
  const double least = brightened * (1 - saturation);
  const double falling = brightened * (1 - rest * saturation);
  const double rising = brightened * (1 - (1 - rest) * saturation);
  switch (static_cast<int>(whole) % 6) {
    case 0: return {brightened, rising, least};
    case 1: return {falling, brightened, least};
    case 2: return {least, brightened, rising};
    case 3: return {least, falling, brightened};
    case 4: return {rising, least, brightened};
    default: return {brightened, least, falling};
  }
}

class Brightness final : public Corruption {
 public:
  explicit Brightness(double amount) : amount_(amount) {}

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    for (std::size_t i = 0; i < kValues; i += kColours) {
      const Colour colour =
          brighter({image[i] / 255.0, image[i + 1] / 255.0, image[i + 2] / 255.0}, amount_);
      for (std::size_t c = 0; c < kColours; ++c) result[i + c] = to_byte(colour[c]);
    }
  }

 private:
  double amount_;
};

class Contrast final : public Corruption {
 public:
  explicit Contrast(double factor) : factor_(factor) {}

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    Colour means = {};
    for (std::size_t i = 0; i < kValues; ++i) means[i % kColours] += image[i] / 255.0;
    for (double& mean : means) mean /= kPixels;
    for (std::size_t i = 0; i < kValues; ++i) {
      const double mean = means[i % kColours];
      result[i] = to_byte((image[i] / 255.0 - mean) * factor_ + mean);
    }
  }

 private:
  double factor_;
};

}  // namespace

Made make_brightness(int severity) {
  constexpr PerSeverity<double> amounts = {.05, .1, .15, .2, .3};
  return std::make_unique<Brightness>(constant_of(amounts, severity));
}

Made make_contrast(int severity) {
  constexpr PerSeverity<double> factors = {.75, .5, .4, .3, .15};
  return std::make_unique<Contrast>(constant_of(factors, severity));
}

}  // namespace tautstring_tasks::cifar10c
