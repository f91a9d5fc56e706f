// Heat maps as they are scored: resized, from 0 to 1, and in 8 bits.
#pragma once

#include <span>
#include <vector>

#include "support/map.h"

namespace tautstring_tasks::localise {

inline constexpr Size kScored{.height = 224, .width = 224};

using Floats = std::span<const float>;
using NewFloats = std::vector<float>;

/// A map in another size, by cubic interpolation with a = -3/4 (OpenCV's) between the centres of
/// pixels; the border is repeated.
[[nodiscard]] NewFloats resized(Floats map, Size from, Size to);

/// A map less its minimum, divided by its maximum. All zeros if it is constant, or not finite.
[[nodiscard]] NewFloats stretched(NewFloats map);

/// A map in [0, 1], times 255 and rounded down.
[[nodiscard]] NewBytes to_bytes(Floats map);

}  // namespace tautstring_tasks::localise
