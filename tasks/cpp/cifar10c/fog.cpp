// Fog: a plasma fractal is added to the image, whose brightest value stays what it is.
#include <algorithm>
#include <cstddef>

#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Haze {
  double amount;
  double decay;  // of the fractal's randomness from each scale to the next
};

/// The diamond-square fractal on a periodic grid, in [0, 1], from a random number for each point
/// but the first. The randomness is multiplied by its own size, as in the original: it decays
/// twice.
Plane<double> plasma(double decay, std::span<const double> random) {
  Plane<double> map;
  map[0] = 0;
  const double* next = random.data();
  const auto at = [&](int y, int x) -> double& {
    return map[pixel_at((y + kSize) % kSize, (x + kSize) % kSize)];
  };
  double wibble = 100;
  const auto jitter = [&] { return wibble * (-wibble + 2 * wibble * *next++); };
  for (int step = kSize; step >= 2; step /= 2) {
    const int half = step / 2;
    for (int y = 0; y < kSize; y += step) {
      for (int x = 0; x < kSize; x += step) {
        const double left = at(y, x) + at(y + step, x);
        const double right = at(y, x + step) + at(y + step, x + step);
        at(y + half, x + half) = (left + right) / 4 + jitter();
      }
    }
    const auto diamond = [&](int y, int x) {
      const double upright = at(y + half, x) + at(y - half, x);
      const double level = at(y, x - half) + at(y, x + half);
      at(y, x) = (upright + level) / 4 + jitter();
    };
    for (int y = 0; y < kSize; y += step) {
      for (int x = half; x < kSize; x += step) diamond(y, x);
    }
    for (int y = half; y < kSize; y += step) {
      for (int x = 0; x < kSize; x += step) diamond(y, x);
    }
    wibble /= decay;
  }
  const auto [low, high] = std::minmax_element(map.begin(), map.end());
  const double lowest = *low;
  const double range = *high - lowest;
  for (double& value : map) value = (value - lowest) / range;
  return map;
}

class Fog final : public Corruption {
 public:
  explicit Fog(const Haze& haze) : haze_(haze) {}

  [[nodiscard]] RandomCounts random_counts() const override { return {.uniforms = kPixels - 1}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    const double brightest = *std::max_element(image.begin(), image.end()) / 255.0;
    const Plane<double> fog = plasma(haze_.decay, random);
    for (std::size_t i = 0; i < kValues; ++i) {
      const double sum = image[i] / 255.0 + haze_.amount * fog[i / kColours];
      result[i] = to_byte(sum * brightest / (brightest + haze_.amount));
    }
  }

 private:
  Haze haze_;
};

}  // namespace

Made make_fog(int severity) {
  constexpr PerSeverity<Haze> constants = {{{.2, 3}, {.5, 3}, {.75, 2.5}, {1, 2}, {1.5, 1.75}}};
  return std::make_unique<Fog>(constant_of(constants, severity));
}

}  // namespace tautstring_tasks::cifar10c
