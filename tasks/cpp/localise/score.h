// How well the boxes of heat maps fit true boxes, for many images on many threads; and how many
// pixels of objects heat maps find.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "localise/boxes.h"
#include "localise/heat.h"
#include "support/map.h"

namespace tautstring_tasks::localise {

/// Intersection over union in whole percent, rounded down. Columns and rows are inclusive.
[[nodiscard]] std::uint8_t overlap(const Box& a, const Box& b);

/// At each cut, the best overlap of a box of the map with a true box.
struct Overlaps {
  std::array<std::uint8_t, kCuts> all{};      ///< Of the boxes of all contours.
  std::array<std::uint8_t, kCuts> largest{};  ///< Of the contour with the largest area.
};

/// A heat map of any size, and what is true of its image.
struct Image {
  Size size;
  Floats map;
  std::vector<Box> boxes;  ///< In pixels of kScored.
  Bytes mask;              ///< Of the size kScored: kIgnored, 0 for no object, or another value.
};

inline constexpr std::uint8_t kIgnored = 255;

/// One item per image. Threads below 1: one per hardware thread. Throws std::invalid_argument.
[[nodiscard]] std::vector<Overlaps> score_boxes(std::span<const Image> images, int threads);

inline constexpr int kBins = 1001;  // bin k: from k / 1000 to before (k + 1) / 1000; the last: 1

/// Numbers of pixels by the value of the heat map.
struct PixelCounts {
  std::array<std::int64_t, kBins> objects{};
  std::array<std::int64_t, kBins> others{};
};

/// Summed over images.
[[nodiscard]] PixelCounts count_pixels(std::span<const Image> images, int threads);

}  // namespace tautstring_tasks::localise
