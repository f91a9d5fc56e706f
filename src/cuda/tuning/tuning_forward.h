// How the forward kernel lays out its work. Chosen with bench/cuda on an H200.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "step/slope_search.h"

namespace tautstring::detail {

inline constexpr int kLanes = 32;

/// Rows that a warp keeps in shared memory to solve with care later.
inline constexpr int kListRoom = 2 * kLanes;
/// Tasks whose rows are streamed at once where half of the one before had to be.
inline constexpr int kSkippedTasks = 15;
/// Rows are streamed only where each warp has so many that few lanes idle.
inline constexpr int kLeastStreamedRows = 8;

/// A lane searches a chunk of a row; a warp has the chunks of one or more rows, a
/// sample a bank and a word of codes for sixteen of them.
struct ForwardShape {
  std::int32_t n = 0;
  int chunk = 0;          // samples a lane; a power of two where rows are split
  int log_chunk = 0;      // only where rows are split
  int lanes_per_row = 1;  // 1: rows are not split
  int rows_per_warp = kLanes;
  int warps = 1;  // a block
  int skew = 0;   // items between the samples of two warps, so that they are in other banks

  [[nodiscard]] constexpr int rows_per_block() const noexcept { return rows_per_warp * warps; }
  /// Samples a lane has room for: its chunk and the group that follows it.
  [[nodiscard]] constexpr int depth() const noexcept { return chunk + kGroup; }
  [[nodiscard]] constexpr int words() const noexcept { return (chunk + 15) / 16; }
  [[nodiscard]] constexpr std::size_t warp_bytes(std::size_t item, bool edges) const noexcept {
    return kLanes * (static_cast<std::size_t>(depth()) * item * (edges ? 2 : 1) +
                     static_cast<std::size_t>(words()) * sizeof(std::uint32_t)) +
           static_cast<std::size_t>(skew) * item;
  }
  /// Whether rows may be streamed that are split, or not.
  [[nodiscard]] static constexpr bool may_stream(bool split, bool edges) noexcept {
    return split && !edges;
  }
  /// Where none is streamed, each warp has a list of rows in shared memory, behind all samples.
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

/// A block has no more warps than this: along memory a warp needs no other.
[[nodiscard]] constexpr int most_forward_warps(bool split, bool along_memory) noexcept {
  if (!split) return 2;
  return along_memory ? 1 : 8;
}
/// So many warps shall fit a multiprocessor by their registers, as they do by their memory.
[[nodiscard]] constexpr int wanted_forward_warps(bool split) noexcept {
  return split ? 12 : 20;
}
/// Across memory a block of split rows has so many warps, or more where it takes more to have the
/// neighbouring rows of a sector of 32 bytes.
inline constexpr int kWarpsAcross = 4;
inline constexpr int kRowsAcross = 8;
/// Rows that need care have so much scratch, or a slot a warp where that is more.
inline constexpr std::size_t kMostCarefulScratch = std::size_t{64} << 20;
/// A row is one lane's where its samples, and its lams, have no more bytes than this.
inline constexpr std::size_t kMostWholeRowBytes = 1024;
/// The longest row that a warp holds.
inline constexpr std::int32_t kLongestWarpRow = 8192;

/// A row that is searched in pieces has a lane for each chunk of 2^log samples, whoever
/// searches: where pieces begin is a matter of the row alone.
[[nodiscard]] constexpr int split_log_chunk(std::int32_t n) noexcept {
  return n <= kLanes * 128 ? 7 : 8;
}

/// Whether a row with such a piece is searched whole: most lanes would wait for one. That is
/// a matter of the row too.
[[nodiscard]] constexpr bool is_lopsided(std::int32_t piece, std::int32_t n) noexcept {
  return piece == n || piece > std::max(n / 2, 2 << split_log_chunk(n));
}

/// Shared memory that CUDA keeps of each block.
inline constexpr std::size_t kBlockReserve = std::size_t{1} << 10;

/// `block_bytes` of shared memory is what a block can have. Where not even one warp fits,
/// the shape has no warps.
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
    // A warp brings the same few chunks of each of these rows.
    if (wanted > 1) shape.skew = std::max(kLanes / (shape.rows_per_warp * wanted), 1);
  }
  shape.warps = 1;
  const std::size_t warp_bytes = shape.block_bytes(item, edges);
  shape.warps = std::min(wanted, static_cast<int>(block_bytes / warp_bytes));
  // A multiprocessor has as much memory as a block can have. Warps with whole rows need no
  // others: where more of them fit on their own, each is a block.
  const auto resident = [&](std::size_t warps) {
    return block_bytes / (warps * warp_bytes + kBlockReserve) * warps;
  };
  if (shape.lanes_per_row == 1 && shape.warps == 2 && resident(1) > resident(2)) shape.warps = 1;
  return shape;
}

}  // namespace tautstring::detail
