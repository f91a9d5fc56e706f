// The distance between rows in a tile.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// Lanes a multiple of this apart would compete for the few ways of the same cache sets.
inline constexpr std::int64_t kUnluckyPitch = 256;

/// A multiple of 16, so that a row is cut into the same blocks wherever it is.
[[nodiscard]] constexpr std::int64_t tile_pitch(std::int64_t n) noexcept {
  constexpr std::int64_t kUnit = 16;
  const std::int64_t pitch = (n + kUnit - 1) / kUnit * kUnit;
  return pitch % kUnluckyPitch == 0 ? pitch + kUnit : pitch;
}

}  // namespace tautstring::detail
