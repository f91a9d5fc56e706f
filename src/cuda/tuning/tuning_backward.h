// How the backward kernels lay out their work. Chosen with bench/cuda on an H200.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tautline::detail {

/// A thread has the elements of one word of codes.
inline constexpr int kWordElements = 16;
/// Words whose sums are added up before those of others are.
inline constexpr int kGroupWords = 32;
/// A block has no more of a row than this.
inline constexpr std::int32_t kBackwardTile = 8192;
inline constexpr int kTileWords = kBackwardTile / kWordElements;
/// Threads of a block, by the size of the arithmetic type; across memory more, to have
/// more neighbouring rows.
[[nodiscard]] constexpr int most_backward_threads(std::size_t item, bool along_memory) noexcept {
  return item > sizeof(float) || along_memory ? kTileWords : 2 * kTileWords;
}

/// A block has `words` words of each of `rows` rows.
struct BackwardShape {
  int words = 0;  // of a row, or of a tile of it
  int rows = 0;

  [[nodiscard]] constexpr int groups() const noexcept {
    return (words + kGroupWords - 1) / kGroupWords;
  }
  [[nodiscard]] constexpr int threads() const noexcept { return (words * rows + 31) / 32 * 32; }
};

[[nodiscard]] inline BackwardShape backward_shape(std::int32_t n, std::size_t item,
                                                  bool along_memory) noexcept {
  const std::int32_t elements = std::min(n, kBackwardTile);
  BackwardShape shape;
  shape.words = (elements + kWordElements - 1) / kWordElements;
  // Along memory enough rows to fill four warps; across it neighbouring rows that fill
  // lines, or as much of them as a block can have.
  shape.rows = along_memory ? std::max(128 / shape.words, 1)
                            : std::clamp(most_backward_threads(item, false) / shape.words, 1, 32);
  return shape;
}

}  // namespace tautline::detail
