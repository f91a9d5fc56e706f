// Gaussian, shot and impulse noise: each value of each colour on its own.
#include <cmath>
#include <cstddef>
#include <vector>

#include "cifar10c/families.h"
#include "support/random.h"

namespace tautstring_tasks::cifar10c {
namespace {

class GaussianNoise final : public Corruption {
 public:
  explicit GaussianNoise(double deviation) : deviation_(deviation) {}

  [[nodiscard]] RandomCounts random_counts() const override { return {.normals = kValues}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    for (std::size_t i = 0; i < kValues; ++i) {
      result[i] = to_byte(image[i] / 255.0 + deviation_ * random[i]);
    }
  }

 private:
  double deviation_;
};

/// Poisson(x * c) / c, drawn by inversion: a larger random number is a larger count.
class ShotNoise final : public Corruption {
 public:
  explicit ShotNoise(double photons) : photons_(photons) {
    for (int value = 0; value < 256; ++value) counts_.emplace_back(value / 255.0 * photons);
  }

  [[nodiscard]] RandomCounts random_counts() const override { return {.uniforms = kValues}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    for (std::size_t i = 0; i < kValues; ++i) {
      result[i] = to_byte(counts_[image[i]](random[i]) / photons_);
    }
  }

 private:
  double photons_;  // of a value of 1
  std::vector<PoissonQuantile> counts_;
};

/// Half salt, half pepper: a share of the values becomes 255 or 0.
class ImpulseNoise final : public Corruption {
 public:
  explicit ImpulseNoise(double share) : share_(share) {}

  [[nodiscard]] RandomCounts random_counts() const override { return {.uniforms = kValues}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    for (std::size_t i = 0; i < kValues; ++i) {
      const bool is_salt = random[i] < share_ / 2;
      const bool is_pepper = !is_salt && random[i] < share_;
      result[i] = is_salt ? 255 : is_pepper ? 0 : to_byte(image[i] / 255.0);
    }
  }

 private:
  double share_;
};

}  // namespace

Made make_gaussian_noise(int severity) {
  constexpr PerSeverity<double> deviations = {.04, .06, .08, .09, .10};
  return std::make_unique<GaussianNoise>(constant_of(deviations, severity));
}

Made make_shot_noise(int severity) {
  constexpr PerSeverity<double> photons = {500, 250, 100, 75, 50};
  return std::make_unique<ShotNoise>(constant_of(photons, severity));
}

Made make_impulse_noise(int severity) {
  constexpr PerSeverity<double> shares = {.01, .02, .03, .05, .07};
  return std::make_unique<ImpulseNoise>(constant_of(shares, severity));
}

}  // namespace tautstring_tasks::cifar10c
