// Tables that turn the bits of a mask into lanes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tautline::detail {

/// Byte i of entry b: how many of the bits 0 .. i of b are set.
inline constexpr std::array<std::uint64_t, 256> kPrefixCounts = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const auto count = static_cast<std::uint64_t>(std::popcount(b & ((2U << i) - 1)));
      table[b] |= count << (8 * i);
    }
  }
  return table;
}();

/// Byte j of entry b: the place of the j-th set bit of b.
inline constexpr std::array<std::uint64_t, 256> kSetBits = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t count = 0;
    for (std::uint64_t i = 0; i < 8; ++i) {
      if ((b >> i & 1U) != 0) table[b] |= i << (8 * count++);
    }
  }
  return table;
}();

}  // namespace tautline::detail
