// How the backward kernels lay out their work. Chosen with bench/cuda on an H200.
#pragma once

#include <cstdint>

namespace tautline::detail {

/// A thread has the elements of one word of codes.
inline constexpr int kWordElements = 16;
/// Rows up to this long share a warp.
inline constexpr std::int32_t kLongestSharedWarpRow = 32 * kWordElements;
/// A block has this much of a longer row at most.
inline constexpr std::int32_t kBackwardTile = 8192;
/// Warps a block where rows share warps.
inline constexpr int kSharedWarps = 4;
/// Threads a block where each has a row across memory.
inline constexpr int kAcrossThreads = 128;

}  // namespace tautline::detail
