// Work layout of the forward kernel. Chosen with bench/cuda on an H200.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "step/slope_search.h"

namespace tautstring::detail {

inline constexpr int kLanes = 32;

/// Rows that a warp can keep in shared memory, to be solved by the careful path later.
inline constexpr int kListRoom = 2 * kLanes;
/// Number of tasks whose rows are streamed without a search, after a task in which half of the rows
/// had to be streamed.
inline constexpr int kSkippedTasks = 15;
/// Rows are streamed only if each warp has at least this many, so that few lanes idle.
inline constexpr int kLeastStreamedRows = 8;

/// A lane searches a chunk of a row. A warp holds the chunks of one or more rows, with one shared
/// memory bank per sample and one word of codes per sixteen samples.
struct ForwardShape {
  std::int32_t n = 0;
  int chunk = 0;          // samples per lane; a power of two if rows are split
  int log_chunk = 0;      // only if rows are split
  int lanes_per_row = 1;  // 1: rows are not split
  int rows_per_warp = kLanes;
  int warps = 1;  // per block
  int skew = 0;   // items between the samples of two warps, so that they lie in different banks

  [[nodiscard]] constexpr int rows_per_block() const noexcept { return rows_per_warp * warps; }
  /// Samples that a lane has room for: its chunk and the group after it.
  [[nodiscard]] constexpr int depth() const noexcept { return chunk + kGroup; }
  [[nodiscard]] constexpr int words() const noexcept { return (chunk + 15) / 16; }
  [[nodiscard]] constexpr std::size_t warp_bytes(std::size_t item, bool edges) const noexcept {
    return kLanes * (static_cast<std::size_t>(depth()) * item * (edges ? 2 : 1) +
                     static_cast<std::size_t>(words()) * sizeof(std::uint32_t)) +
           static_cast<std::size_t>(skew) * item;
  }
  /// Whether rows may be streamed. `split`: whether rows are split between lanes.
  [[nodiscard]] static constexpr bool may_stream(bool split, bool edges) noexcept {
    return split && !edges;
  }
  /// If rows are not streamed, each warp has a list of rows in shared memory, after all samples.
  [[nodiscard]] constexpr std::size_t lists_offset(std::size_t item, bool edges) const noexcept {
    constexpr std::size_t kAlignment = sizeof(std::int64_t);
    const std::size_t samples = static_cast<std::size_t>(warps) * warp_bytes(item, edges);
    return (samples + kAlignment - 1) / kAlignment * kAlignment;
  }
  [[nodiscard]] constexpr std::size_t block_bytes(std::size_t item, bool edges) const noexcept {
    const bool has_list = !may_stream(lanes_per_row > 1, edges);
    return lists_offset(item, edges) +
           (has_list ? static_cast<std::size_t>(warps * kListRoom) * sizeof(std::int64_t) : 0);
  }
};

/// The largest number of warps in a block. Along memory a warp does not need other warps.
[[nodiscard]] constexpr int most_forward_warps(bool split, bool along_memory) noexcept {
  if (!split) return 2;
  return along_memory ? 1 : 8;
}
/// The number of warps that must fit on a multiprocessor by their registers, as they do by their
/// shared memory.
[[nodiscard]] constexpr int wanted_forward_warps(bool split) noexcept {
  return split ? 12 : 20;
}
/// Across memory, the number of warps in a block of split rows; more if the neighbouring rows of a
/// 32-byte sector need more.
inline constexpr int kWarpsAcross = 4;
inline constexpr int kRowsAcross = 8;
/// Limit of the scratch memory for careful rows. If one slot per warp needs more, that is used.
inline constexpr std::size_t kMostCarefulScratch = std::size_t{64} << 20;
/// One lane searches a whole row if the samples and lams of the row take at most this many bytes.
inline constexpr std::size_t kMostWholeRowBytes = 1024;
/// The longest row that a warp can hold.
inline constexpr std::int32_t kLongestWarpRow = 8192;

/// A row that is searched in pieces has one lane per chunk of 2^log samples in every kernel: where
/// pieces begin must depend on the row alone.
[[nodiscard]] constexpr int split_log_chunk(std::int32_t n) noexcept {
  return n <= kLanes * 128 ? 7 : 8;
}

/// Whether a row with a piece of this length is searched whole, since most lanes would wait for
/// that piece. This too must depend on the row alone.
[[nodiscard]] constexpr bool is_lopsided(std::int32_t piece, std::int32_t n) noexcept {
  return piece == n || piece > std::max(n / 2, 2 << split_log_chunk(n));
}

/// Shared memory that CUDA reserves in each block.
inline constexpr std::size_t kBlockReserve = std::size_t{1} << 10;

/// `block_bytes`: the shared memory that a block can have. If not even one warp fits, the shape has
/// no warps.
[[nodiscard]] inline ForwardShape forward_shape(std::int32_t n, bool rows_along_memory,
                                                std::size_t item, bool edges,
                                                std::size_t block_bytes) noexcept {
  constexpr int kTile = 32;
  ForwardShape shape;
  shape.n = n;
  int wanted = most_forward_warps(false, rows_along_memory);
  const std::size_t row_bytes = static_cast<std::size_t>(n) * item * (edges ? 2 : 1);
  if (row_bytes <= kMostWholeRowBytes) {
    shape.chunk = (n + kTile - 1) / kTile * kTile;
  } else {
    shape.log_chunk = split_log_chunk(n);
    shape.chunk = 1 << shape.log_chunk;
    shape.lanes_per_row = (n + shape.chunk - 1) / shape.chunk;
    shape.rows_per_warp = kLanes / shape.lanes_per_row;
    wanted = std::min(std::max(kWarpsAcross, kRowsAcross / shape.rows_per_warp),
                      most_forward_warps(true, rows_along_memory));
    // A warp loads the same few chunks of each of these rows.
    if (wanted > 1) shape.skew = std::max(kLanes / (shape.rows_per_warp * wanted), 1);
  }
  shape.warps = 1;
  const std::size_t warp_bytes = shape.block_bytes(item, edges);
  shape.warps = std::min(wanted, static_cast<int>(block_bytes / warp_bytes));
  // A multiprocessor has as much memory as a block can have. Warps with whole rows do not need
  // other warps: if more of them fit as blocks of one warp, use such blocks.
  const auto resident = [&](std::size_t warps) {
    return block_bytes / (warps * warp_bytes + kBlockReserve) * warps;
  };
  if (shape.lanes_per_row == 1 && shape.warps == 2 && resident(1) > resident(2)) shape.warps = 1;
  return shape;
}

}  // namespace tautstring::detail
