// What a corruption is: a pure function of an image, a severity and random numbers. So the random
// numbers can be given, and everything can be computed in any order.
//
// The recipe is that of CIFAR-10-C (Hendrycks and Dietterich, "Benchmarking neural network
// robustness to common corruptions and perturbations", ICLR 2019), with its own constants and its
// quirks: see the comment of each file. The random numbers are ours, as the original has no seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cifar10c/pixels.h"

namespace tautstring_tasks::cifar10c {

inline constexpr int kSeverities = 5;

/// How many random numbers an image needs: standard normals first, then uniforms in [0, 1).
struct RandomCounts {
  int normals = 0;
  int uniforms = 0;
};

/// A corruption of one severity, ready for any number of images on any threads.
class Corruption {
 public:
  Corruption() = default;
  Corruption(const Corruption&) = delete;
  Corruption& operator=(const Corruption&) = delete;
  virtual ~Corruption() = default;

  [[nodiscard]] virtual RandomCounts random_counts() const { return {}; }

  /// `random` has as many numbers as random_counts() says.
  virtual void apply(Image image, std::span<const double> random, Result result) const = 0;
};

/// A picture of frost, of any size: red, green and blue interleaved.
struct Overlay {
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> values;
};

/// In the order of the published files.
inline constexpr std::array<std::string_view, 15> kNames = {"gaussian_noise",
                                                            "shot_noise",
                                                            "impulse_noise",
                                                            "defocus_blur",
                                                            "glass_blur",
                                                            "motion_blur",
                                                            "zoom_blur",
                                                            "snow",
                                                            "frost",
                                                            "fog",
                                                            "brightness",
                                                            "contrast",
                                                            "elastic_transform",
                                                            "pixelate",
                                                            "jpeg_compression"};

/// The index of a name in kNames. Throws std::invalid_argument.
[[nodiscard]] std::size_t index_of(std::string_view name);

/// A corruption by its name. Overlays are for frost alone, which needs at least five and uses the
/// first five of them. Throws std::invalid_argument, with the argument's name and value.
[[nodiscard]] std::unique_ptr<const Corruption> make(std::string_view name, int severity,
                                                     std::span<const Overlay> overlays = {});

}  // namespace tautstring_tasks::cifar10c
