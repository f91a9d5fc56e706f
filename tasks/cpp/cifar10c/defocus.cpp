// Defocus blur: a disk, smoothed by a 3 x 3 Gaussian. Disks with a radius below 1 are one pixel, so
// severities 1 to 3 are small Gaussians. As in OpenCV, the weights are float32; mirrored on the
// edge.
#include <cstddef>
#include <vector>

#include "cifar10c/borders.h"
#include "cifar10c/families.h"
#include "support/elementary.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Disk {
  double radius;  // below 2
  double sigma;
};

/// A weight of the kernel, and whose pixel it is for.
struct Tap {
  int y, x;
  double weight;
};

constexpr int kReach = 2;  // of a disk of radius 1 and the Gaussian
constexpr int kWidth = 2 * kReach + 1;

std::vector<Tap> taps_of(const Disk& disk) {
  std::array<std::array<float, kWidth + 2>, kWidth + 2> sharp = {};  // with a margin of zeros
  int count = 0;
  for (int y = -kReach; y <= kReach; ++y) {
    for (int x = -kReach; x <= kReach; ++x) {
      const bool is_inside = y * y + x * x <= disk.radius * disk.radius;
      count += is_inside ? 1 : 0;
      sharp[to_index(y + kReach + 1)][to_index(x + kReach + 1)] = is_inside ? 1.0F : 0.0F;
    }
  }
  const double side = exponential(-0.5 / (disk.sigma * disk.sigma));
  const auto middle_weight = static_cast<float>(1 / (1 + 2 * side));
  const auto side_weight = static_cast<float>(side / (1 + 2 * side));
  const auto smooth = [&](float before, float at, float after) {
    return middle_weight * at + side_weight * (before + after);
  };
  std::vector<Tap> taps;
  for (std::size_t y = 1; y <= kWidth; ++y) {
    for (std::size_t x = 1; x <= kWidth; ++x) {
      std::array<float, 3> across = {};
      for (std::size_t i = 0; i < 3; ++i) {
        const auto& row = sharp[y + i - 1];
        across[i] = smooth(row[x - 1], row[x], row[x + 1]) / static_cast<float>(count);
      }
      const float weight = smooth(across[0], across[1], across[2]);
      if (weight != 0) {
        taps.push_back(
            {static_cast<int>(y) - kReach - 1, static_cast<int>(x) - kReach - 1, weight});
      }
    }
  }
  return taps;
}

class DefocusBlur final : public Corruption {
 public:
  explicit DefocusBlur(const Disk& disk) : taps_(taps_of(disk)) {}

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    constexpr int padded = kSize + 2 * kReach;
    constexpr int pitch = padded * kColours;
    std::array<double, to_index(padded * pitch)> source;
    for (int y = 0; y < padded; ++y) {
      for (int x = 0; x < padded; ++x) {
        const int from_y = MirrorBorder::inside(y - kReach, kSize);
        const int from_x = MirrorBorder::inside(x - kReach, kSize);
        for (int c = 0; c < kColours; ++c) {
          source[to_index(y * pitch + x * kColours + c)] =
              image[value_at(from_y, from_x, c)] / 255.0;
        }
      }
    }
    constexpr int width = kSize * kColours;
    for (int y = 0; y < kSize; ++y) {
      std::array<double, width> sums = {};
      for (const Tap& tap : taps_) {
        const int from = (y + kReach + tap.y) * pitch + (kReach + tap.x) * kColours;
        const double* const row = &source[to_index(from)];
        for (std::size_t i = 0; i < width; ++i) sums[i] += tap.weight * row[i];
      }
      for (std::size_t i = 0; i < width; ++i) {
        result[value_at(y, 0, 0) + i] = to_byte(sums[i]);
      }
    }
  }

 private:
  std::vector<Tap> taps_;
};

}  // namespace

Made make_defocus_blur(int severity) {
  constexpr PerSeverity<Disk> disks = {{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}};
  return std::make_unique<DefocusBlur>(constant_of(disks, severity));
}

}  // namespace tautstring_tasks::cifar10c
