// Work layout for rows that do not fit in a warp. Chosen with bench/cuda on an H200.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautstring::detail {

/// Samples per chunk; each lane searches one chunk. Chunks are short where a single row would
/// otherwise have too few lanes to fill a device. Where pieces begin must depend on the row alone.
[[nodiscard]] constexpr std::int32_t long_chunk(std::int32_t n) noexcept {
  return n <= 1 << 21 ? 64 : 128;
}
/// Samples that a lane reads, from the start of its chunk, to find a place to begin.
inline constexpr std::int32_t kLongLimit = 2048;
inline constexpr int kLongThreads = 64;
/// Elements that a block fills with values.
inline constexpr std::int32_t kFillTile = 4096;
inline constexpr int kFillThreads = kFillTile / 16;
/// Limit of the scratch memory for careful rows. If one row needs more, that is used.
inline constexpr std::size_t kMostLongScratch = std::size_t{256} << 20;
inline constexpr std::int64_t kMostLongSlots = 1024;

}  // namespace tautstring::detail
