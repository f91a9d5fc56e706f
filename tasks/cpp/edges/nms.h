// Non-maximum suppression: keeps of a map of edges the pixels that are maxima across their edge.
#pragma once

#include <span>

#include "support/map.h"

namespace tautstring_tasks::edges {

/// The defaults are DexiNed's; RCF's are radius 2, border 5, factor 1.01.
struct NmsOptions {
  int radius = 1;  ///< A pixel is compared with those up to this far, on both sides.
  int border = 5;  ///< Pixels this close to the border are damped.
  double factor =
      1.03;  ///< A pixel stays if this times its value reaches those it is compared with.
};

/// Returns the map, with 0 where it is suppressed, rounded to 8 bits. Values must be in [0, 1].
/// Throws std::invalid_argument, with the argument's name and value.
[[nodiscard]] NewBytes suppress(std::span<const float> map, Size size, const NmsOptions& options);

}  // namespace tautstring_tasks::edges
