// Work layout of the backward kernels. Chosen with bench/cuda on an H200.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tautstring::detail {

/// Each thread handles the elements of one word of codes.
inline constexpr int kWordElements = 16;
/// Words whose sums are combined first: those of one warp.
inline constexpr int kGroupWords = 32;
/// The longest part of a row that one block handles.
inline constexpr std::int32_t kBackwardTile = 8192;
inline constexpr int kTileWords = kBackwardTile / kWordElements;
/// The largest number of warps in a block.
inline constexpr int kMostBackwardWarps = 32;

/// How a block reads and writes gradients.
enum class BackwardAccess {
  vectors,  // 16 bytes at a time; rows of whole words, without gaps between them
  along,    // neighbouring lanes access neighbouring elements of a row
  across,   // neighbouring lanes access neighbouring rows
};

/// What a warp handles: whole rows, or one of the groups of a longer row.
enum class BackwardSpan { rows, group };

/// What a kernel computes. Per-edge gradients of lam need registers that the other tasks save.
enum class BackwardTask { gradients, gradients_with_edges, tile_sums };

/// Access across memory uses more threads, so that a block has more neighbouring rows.
[[nodiscard]] constexpr int most_backward_threads(std::size_t arithmetic,
                                                  BackwardAccess access) noexcept {
  const bool wide = arithmetic > sizeof(float);
  return wide || access != BackwardAccess::across ? kTileWords : 2 * kTileWords;
}
/// The number of blocks of that many threads that must fit on a multiprocessor. It leaves float32
/// arithmetic 64 registers.
[[nodiscard]] constexpr int least_backward_blocks(std::size_t arithmetic,
                                                  BackwardAccess access) noexcept {
  return arithmetic > sizeof(float) || access == BackwardAccess::across ? 1 : 2;
}

/// A block handles `words` words of each of `rows` rows. A warp handles `warp_rows` rows, or one of
/// the `groups` groups of a row.
struct BackwardShape {
  int words = 0;  // of a row, or of a tile of it
  int groups = 0;
  int warp_rows = 0;
  int rows = 0;
  int row_bits = 0;                 // rows = 2^row_bits, for access across memory
  std::uint32_t word_inverse = 0;   // lane / words = lane * this >> 16
  std::uint32_t group_inverse = 0;  // warp / groups = warp * this >> 16

  [[nodiscard]] constexpr int threads() const noexcept {
    return (rows + warp_rows - 1) / warp_rows * groups * 32;
  }
};

[[nodiscard]] inline BackwardShape backward_shape(std::int32_t n, std::size_t storage,
                                                  std::size_t arithmetic,
                                                  BackwardAccess access) noexcept {
  const std::int32_t elements = std::min(n, kBackwardTile);
  BackwardShape shape;
  shape.words = (elements + kWordElements - 1) / kWordElements;
  shape.groups = (shape.words + kGroupWords - 1) / kGroupWords;
  shape.warp_rows = std::max(kGroupWords / shape.words, 1);
  shape.word_inverse = 65536U / static_cast<std::uint32_t>(shape.words) + 1;
  shape.group_inverse = 65536U / static_cast<std::uint32_t>(shape.groups) + 1;
  if (access != BackwardAccess::across) {
    shape.rows = shape.groups == 1 ? 4 * shape.warp_rows : 1;
    return shape;
  }
  // As many neighbouring rows as fill cache lines, or at least the 32 bytes of a memory sector, or
  // as many as fit in a block.
  const auto narrower = [&] {
    const bool fills = (storage << shape.row_bits) > 32;
    const int most = fills ? kTileWords : most_backward_threads(arithmetic, access);
    return shape.row_bits > 0 && shape.threads() > most;
  };
  for (shape.row_bits = 5, shape.rows = 32; narrower(); shape.rows /= 2) --shape.row_bits;
  return shape;
}

}  // namespace tautstring::detail
