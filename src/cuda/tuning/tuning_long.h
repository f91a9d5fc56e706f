// How rows that no warp can hold are laid out. Chosen with bench/cuda on an H200.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautstring::detail {

/// A lane searches a chunk: a short one where a row alone would have too few lanes to fill a
/// device. Where pieces begin is a matter of the row alone.
[[nodiscard]] constexpr std::int32_t long_chunk(std::int32_t n) noexcept {
  return n <= 1 << 21 ? 64 : 128;
}
/// Samples that it looks at, from the start of its chunk, for a place to begin.
inline constexpr std::int32_t kLongLimit = 2048;
inline constexpr int kLongThreads = 64;
/// Elements that a block fills with values.
inline constexpr std::int32_t kFillTile = 4096;
inline constexpr int kFillThreads = kFillTile / 16;
/// Rows that need care have so much scratch, or that of one row where that is more.
inline constexpr std::size_t kMostLongScratch = std::size_t{256} << 20;
inline constexpr std::int64_t kMostLongSlots = 1024;

}  // namespace tautstring::detail
