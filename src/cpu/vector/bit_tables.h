// Tables that expand the bits of a mask into lanes.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tautstring::detail {

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

/// Byte j of entry b: the index of the j-th set bit of b.
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

/// Byte i of entry b: the number of bits from the last set bit at or before i up to i (1 if bit i
/// itself is set). b is odd.
inline constexpr std::array<std::uint64_t, 256> kCountsFromSetBit = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint32_t b = 1; b < 256; b += 2) {
    std::uint64_t count = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
      count = (b >> i & 1U) != 0 ? 1 : count + 1;
      table[b] |= count << (8 * i);
    }
  }
  return table;
}();

/// Byte i of entry b: the index of the first set bit at or after i, or 0.
inline constexpr std::array<std::uint64_t, 256> kNextSetBits = [] {
  std::array<std::uint64_t, 256> table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      const std::uint32_t rest = b >> i << i;
      if (rest != 0) table[b] |= static_cast<std::uint64_t>(std::countr_zero(rest)) << (8 * i);
    }
  }
  return table;
}();

}  // namespace tautstring::detail
