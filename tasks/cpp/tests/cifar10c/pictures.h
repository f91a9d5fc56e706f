// Images for the tests, and one call that corrupts one of them with given random numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "cifar10c/batch.h"
#include "support/random.h"

namespace tautstring_tasks::cifar10c {

using Picture = std::vector<std::uint8_t>;

/// An image whose values are given by place and colour.
inline Picture picture(const std::function<int(int y, int x, int colour)>& value) {
  Picture image(kValues);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      for (int c = 0; c < kColours; ++c) {
        image[value_at(y, x, c)] = static_cast<std::uint8_t>(value(y, x, c));
      }
    }
  }
  return image;
}

inline Picture plain(int value) {
  return picture([=](int, int, int) { return value; });
}

/// Zero, but for one pixel of 255 in the middle.
inline Picture dot() {
  return picture([](int y, int x, int) { return y == 16 && x == 16 ? 255 : 0; });
}

inline Picture noise(std::uint64_t index, int count = 1) {
  Stream stream(99, 1, index);
  Picture images(static_cast<std::size_t>(kValues * count));
  for (std::uint8_t& value : images) value = static_cast<std::uint8_t>(stream.uniform() * 256);
  return images;
}

/// Pictures of frost of one value each: 10, 20, 30, 40, 50 and 60.
inline std::vector<Overlay> plain_overlays() {
  std::vector<Overlay> overlays;
  for (int i = 1; i <= 6; ++i) {
    overlays.push_back({.height = 165,
                        .width = 200,
                        .values = Picture(165 * 200 * 3, static_cast<std::uint8_t>(10 * i))});
  }
  return overlays;
}

inline Picture corrupted(const Picture& image, std::string_view name, int severity,
                         const std::vector<double>& random = {},
                         const std::vector<Overlay>& overlays = {}) {
  Picture result(kValues);
  Corruptor(name, severity, 0, overlays)
      .corrupt(Image(image.data(), kValues), random, Result(result.data(), kValues));
  return result;
}

/// How many random numbers of either kind a corruption needs, all of one value.
inline std::vector<double> all(std::size_t count, double value) {
  return std::vector<double>(count, value);
}

}  // namespace tautstring_tasks::cifar10c
