// Snow: a layer of bright flakes, blurred along a falling line, and added with its half turn to an
// image that is made whiter.
#include <algorithm>
#include <cstddef>

#include "cifar10c/clipped_zoom.h"
#include "cifar10c/families.h"
#include "cifar10c/motion_line.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Flakes {
  double mean, deviation;
  double zoom;
  double threshold;  // below: no flake
  int radius;        // of the motion
  double sigma;
  double mix;  // share of the image as it is
};

class Snow final : public Corruption {
 public:
  explicit Snow(const Flakes& flakes)
      : flakes_(flakes), zoom_(flakes.zoom), line_(flakes.radius, flakes.sigma) {}

  [[nodiscard]] RandomCounts random_counts() const override {
    return {.normals = kPixels, .uniforms = 1};
  }

  void apply(Image image, std::span<const double> random, Result result) const override {
    Plane<double> noise;
    for (std::size_t i = 0; i < kPixels; ++i) {
      noise[i] = flakes_.mean + flakes_.deviation * random[i];
    }
    Plane<double> enlarged;
    zoom_.apply(noise, enlarged);
    Plane<std::uint8_t> sharp;
    for (std::size_t i = 0; i < kPixels; ++i) {
      sharp[i] = enlarged[i] < flakes_.threshold ? std::uint8_t{0} : to_byte(enlarged[i]);
    }
    Plane<std::uint8_t> layer;
    line_.apply(std::span<const std::uint8_t, kPixels>(sharp), -135 + 90 * random[kPixels],
                std::span<std::uint8_t, kPixels>(layer));

    const Colours<float> values = scaled<float>(image);
    const auto mix = static_cast<float>(flakes_.mix);
    const auto rest = static_cast<float>(1 - flakes_.mix);
    for (std::size_t i = 0; i < kPixels; ++i) {
      const float* const pixel = &values[i * kColours];
      const float grey = 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
      const float white = grey * 1.5F + 0.5F;
      const double snow = layer[i] / 255.0;
      const double turned = layer[kPixels - 1 - i] / 255.0;
      for (std::size_t c = 0; c < kColours; ++c) {
        const float whiter = mix * pixel[c] + rest * std::max(pixel[c], white);
        result[i * kColours + c] = to_byte(whiter + snow + turned);
      }
    }
  }

 private:
  Flakes flakes_;
  ClippedZoom zoom_;
  MotionLine line_;
};

}  // namespace

Made make_snow(int severity) {
  constexpr PerSeverity<Flakes> constants = {{{.1, .2, 1, .6, 8, 3, .95},
                                              {.1, .2, 1, .5, 10, 4, .9},
                                              {.15, .3, 1.75, .55, 10, 4, .9},
                                              {.25, .3, 2.25, .6, 12, 6, .85},
                                              {.3, .3, 1.25, .65, 14, 12, .8}}};
  return std::make_unique<Snow>(constant_of(constants, severity));
}

}  // namespace tautstring_tasks::cifar10c
