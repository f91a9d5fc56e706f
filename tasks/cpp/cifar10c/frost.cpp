// Frost: a random part of one of five pictures, a fifth of their size, is added to the image. The
// recipe has six pictures, but its index never selects the last one.
#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Frosting {
  double image, frost;
};

constexpr int kPictures = 5;
constexpr int kFactor = 5;

/// Returns a fifth of a picture. The bilinear filter of OpenCV does not average: pixel i of the
/// result is at (i + .5) * 5 - .5 of the picture, which is pixel 5 * i + 2 and no other.
Overlay reduced(const Overlay& picture) {
  const auto fifth = [](int size) { return static_cast<int>(std::lround(size / 5.0)); };
  Overlay small = {.height = fifth(picture.height), .width = fifth(picture.width), .values = {}};
  for (int y = 0; y < small.height; ++y) {
    for (int x = 0; x < small.width; ++x) {
      const int from = (kFactor * y + kFactor / 2) * picture.width + kFactor * x + kFactor / 2;
      for (int c = 0; c < kColours; ++c) {
        small.values.push_back(picture.values[to_index(from * kColours + c)]);
      }
    }
  }
  return small;
}

std::array<Overlay, kPictures> checked(std::span<const Overlay> overlays) {
  if (overlays.size() < kPictures) {
    throw std::invalid_argument("overlays: frost needs at least 5 pictures, got " +
                                std::to_string(overlays.size()));
  }
  std::array<Overlay, kPictures> small;
  for (std::size_t i = 0; i < small.size(); ++i) {
    small[i] = reduced(overlays[i]);
    if (small[i].height <= kSize || small[i].width <= kSize) {
      throw std::invalid_argument("overlays: pictures must be at least 163 x 163 pixels, got " +
                                  std::to_string(overlays[i].width) + " x " +
                                  std::to_string(overlays[i].height));
    }
  }
  return small;
}

class Frost final : public Corruption {
 public:
  Frost(const Frosting& frosting, std::span<const Overlay> overlays)
      : frosting_(frosting), overlays_(checked(overlays)) {}

  [[nodiscard]] RandomCounts random_counts() const override { return {.uniforms = 3}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    const Overlay& overlay = overlays_[static_cast<std::size_t>(random[0] * kPictures)];
    const int top = static_cast<int>(random[1] * (overlay.height - kSize));
    const int left = static_cast<int>(random[2] * (overlay.width - kSize));
    for (int y = 0; y < kSize; ++y) {
      const int from = ((top + y) * overlay.width + left) * kColours;
      for (std::size_t i = 0; i < to_index(kSize * kColours); ++i) {
        const std::size_t at = value_at(y, 0, 0) + i;
        const double frost = overlay.values[to_index(from) + i];
        const double sum = frosting_.image * image[at] + frosting_.frost * frost;
        result[at] = static_cast<std::uint8_t>(std::min(sum, 255.0));
      }
    }
  }

 private:
  Frosting frosting_;
  std::array<Overlay, kPictures> overlays_;
};

}  // namespace

Made make_frost(int severity, std::span<const Overlay> overlays) {
  constexpr PerSeverity<Frosting> constants = {{{1, .2}, {1, .3}, {.9, .4}, {.85, .4}, {.75, .45}}};
  return std::make_unique<Frost>(constant_of(constants, severity), overlays);
}

}  // namespace tautstring_tasks::cifar10c
