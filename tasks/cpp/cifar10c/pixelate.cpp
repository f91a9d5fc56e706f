// Pixelate: reduced and enlarged again by box filters, with Pillow's arithmetic: weights with 22
// bits after the point, rows first, rounded to bytes after each direction.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

constexpr int kBits = 22;

/// The weights of one pixel of a result.
struct Window {
  int first = 0;
  std::vector<int> weights;
};

/// The windows that resize a line of `from` pixels to one of `to`.
std::vector<Window> windows_of(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double width = std::max(scale, 1.0);  // of the box
  std::vector<Window> windows(to_index(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(std::floor(centre - width / 2 + 0.5)), 0);
    const int end = std::min(static_cast<int>(std::floor(centre + width / 2 + 0.5)), from);
    const auto is_inside = [&](int k) {
      const double distance = (k - centre + 0.5) * (1 / width);
      return distance > -0.5 && distance <= 0.5;
    };
    int count = 0;
    for (int k = first; k < end; ++k) count += is_inside(k) ? 1 : 0;
    Window& window = windows[to_index(i)];
    window.first = first;
    for (int k = first; k < end; ++k) {
      const double weight = is_inside(k) ? 1.0 / count : 0.0;
      window.weights.push_back(static_cast<int>(std::floor(weight * (1 << kBits) + 0.5)));
    }
  }
  return windows;
}

/// A square image with rows of its own length.
struct Square {
  int size = 0;
  std::vector<std::uint8_t> values;
};

std::uint8_t rounded(int sum) {
  return static_cast<std::uint8_t>(std::clamp((sum + (1 << (kBits - 1))) >> kBits, 0, 255));
}

Square resized(const Square& image, const std::vector<Window>& windows) {
  const auto from = to_index(image.size);
  const std::size_t to = windows.size();
  std::vector<std::uint8_t> across(from * to * kColours);
  for (std::size_t y = 0; y < from; ++y) {
    for (std::size_t x = 0; x < to; ++x) {
      const Window& window = windows[x];
      for (std::size_t c = 0; c < kColours; ++c) {
        std::size_t at = (y * from + to_index(window.first)) * kColours + c;
        int sum = 0;
        for (const int weight : window.weights) {
          sum += weight * image.values[at];
          at += kColours;
        }
        across[(y * to + x) * kColours + c] = rounded(sum);
      }
    }
  }
  Square result = {.size = static_cast<int>(to),
                   .values = std::vector<std::uint8_t>(to * to * kColours)};
  const std::size_t pitch = to * kColours;
  for (std::size_t y = 0; y < to; ++y) {
    const Window& window = windows[y];
    for (std::size_t i = 0; i < pitch; ++i) {
      std::size_t at = to_index(window.first) * pitch + i;
      int sum = 0;
      for (const int weight : window.weights) {
        sum += weight * across[at];
        at += pitch;
      }
      result.values[y * pitch + i] = rounded(sum);
    }
  }
  return result;
}

class Pixelate final : public Corruption {
 public:
  explicit Pixelate(int size)
      : reduce_(windows_of(kSize, size)), enlarge_(windows_of(size, kSize)) {}

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    const Square whole = {.size = kSize, .values = {image.begin(), image.end()}};
    const Square small = resized(whole, reduce_);
    const Square large = resized(small, enlarge_);
    std::copy(large.values.begin(), large.values.end(), result.begin());
  }

 private:
  std::vector<Window> reduce_, enlarge_;
};

}  // namespace

Made make_pixelate(int severity) {
  // int(32 * c) for c = .95, .9, .85, .75 and .65
  constexpr PerSeverity<int> sizes = {30, 28, 27, 24, 20};
  return std::make_unique<Pixelate>(constant_of(sizes, severity));
}

}  // namespace tautstring_tasks::cifar10c
