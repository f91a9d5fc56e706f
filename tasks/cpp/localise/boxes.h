// Boxes around the contours of a map, at all thresholds at once.
//
// The benchmark cuts a map at each threshold and traces contours. A contour is the border of a
// component: of 8-connected pixels above the threshold, or of 4-connected others that these enclose
// (a hole). So one sweep over the sorted pixels finds the boxes of all cuts.
#pragma once

#include <array>
#include <vector>

#include "support/map.h"

namespace tautstring_tasks::localise {

inline constexpr int kCuts = 255;  // cut c keeps the pixels above c

/// From its first to its last column and row, inclusive.
struct Box {
  int x0 = 0;
  int y0 = 0;
  int x1 = 0;
  int y1 = 0;

  bool operator==(const Box&) const = default;
};

/// A box, and the cuts which have it, inclusive.
struct Lasting {
  Box box;
  int first = 0;
  int last = 0;
};

/// The boxes of a map, as the benchmark takes them: a pixel too large at the right and at the
/// bottom, unless that is beyond the map; and one of zeros where there is no contour.
struct Boxes {
  std::vector<Lasting> all;
  /// At each cut the box of the contour with the largest area; of several, the one whose first
  /// pixel, row by row, comes last.
  std::array<Box, kCuts> largest;
};

[[nodiscard]] Boxes boxes_of(Bytes map, Size size);

}  // namespace tautstring_tasks::localise
