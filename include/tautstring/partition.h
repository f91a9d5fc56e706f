// The partition of a solution: where its constant segments start and which way it jumps there, with
// 2 bits per element. The derivatives need nothing else of the solution (unless data weights are
// given). It is the contract between forward and backward on every device.
#pragma once

#include <cstdint>

namespace tautstring {

enum class Code : std::uint8_t {
  continues = 0,  // the element continues its segment
  up = 1,         // starts a segment, after a jump up
  down = 2,       // starts a segment, after a jump down
  plain = 3,      // starts a segment without a sign: the start of the row, or an edge with lam 0
                  // between equal values
};

/// Number of codes in a 32-bit word.
inline constexpr int kCodesPerWord = 16;

/// Number of words for a row of n elements. The code of element i is in bits 2(i % 16) and
/// 2(i % 16) + 1 of word i / 16; unused bits are 0; rows follow one another in row-major order of
/// the batch, whatever the strides of x.
[[nodiscard]] constexpr std::int64_t partition_words(std::int64_t n) noexcept {
  return (n + kCodesPerWord - 1) / kCodesPerWord;
}

/// The code of element i of a row that starts at `row`.
[[nodiscard]] constexpr Code code_at(const std::uint32_t* row, std::int64_t i) noexcept {
  return static_cast<Code>(row[i / kCodesPerWord] >> (2 * (i % kCodesPerWord)) & 3U);
}

/// Direction of the jump that a code stands for: +1, -1 or 0.
[[nodiscard]] constexpr int jump_sign(Code code) noexcept {
  return static_cast<int>(code == Code::up) - static_cast<int>(code == Code::down);
}

}  // namespace tautstring
