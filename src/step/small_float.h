// float16 and bfloat16 as bits. Conversions go to and from float64 directly, so that a result is
// rounded once, to nearest even, whatever the arithmetic.
#pragma once

#include <bit>
#include <cstdint>

namespace tautstring::detail {

template <int kExponentBits, int kFractionBits>
struct SmallFloat {
  static_assert(1 + kExponentBits + kFractionBits == 16);

  std::uint16_t bits = 0;

  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint32_t kInfinity = ((1U << kExponentBits) - 1) << kFractionBits;
  static constexpr int kDroppedBits = 52 - kFractionBits;

  constexpr SmallFloat() = default;

  constexpr explicit SmallFloat(double value) noexcept {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint32_t>(wide >> 48 & 0x8000U);
    const auto fraction = wide & ((std::uint64_t{1} << 52) - 1);
    const int exponent = static_cast<int>(wide >> 52 & 0x7FFU) - 1023;
    std::uint32_t magnitude = kInfinity;
    if (exponent == 1024) {
      if (fraction != 0) magnitude |= 1U << (kFractionBits - 1);  // a quiet NaN
    } else if (exponent <= kBias) {
      magnitude = round_magnitude(exponent, fraction);
    }
    bits = static_cast<std::uint16_t>(sign | magnitude);
  }

  constexpr explicit operator double() const noexcept {
    const std::uint64_t sign = static_cast<std::uint64_t>(bits & 0x8000U) << 48;
    const std::uint32_t magnitude = bits & 0x7FFFU;
    const std::uint64_t fraction = magnitude & ((1U << kFractionBits) - 1);
    const std::uint32_t exponent = magnitude >> kFractionBits;
    if (exponent == 0) {  // zero or subnormal
      const double unit =
          std::bit_cast<double>(static_cast<std::uint64_t>(1024 - kBias - kFractionBits) << 52);
      const double value = static_cast<double>(fraction) * unit;
      return sign != 0 ? -value : value;
    }
    const std::uint64_t wide_exponent =
        magnitude >= kInfinity ? 0x7FF : exponent + 1023 - static_cast<std::uint32_t>(kBias);
    return std::bit_cast<double>(sign | wide_exponent << 52 | fraction << kDroppedBits);
  }

 private:
  /// Rounds 1.fraction * 2^exponent; a carry into the exponent, up to infinity, is correct without
  /// special treatment because exponent and fraction are adjacent.
  static constexpr std::uint32_t round_magnitude(int exponent, std::uint64_t fraction) noexcept {
    const int below_normal = exponent < 1 - kBias ? 1 - kBias - exponent : 0;
    const int shift = kDroppedBits + below_normal;
    if (shift > 53) return 0;
    const std::uint64_t significand = fraction | std::uint64_t{1} << 52;
    std::uint64_t kept = significand >> shift;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    if (rest > half || (rest == half && (kept & 1U) != 0)) ++kept;
    const int lifted = below_normal > 0 ? 0 : exponent - (1 - kBias);
    return (static_cast<std::uint32_t>(lifted) << kFractionBits) + static_cast<std::uint32_t>(kept);
  }
};

using Float16 = SmallFloat<5, 10>;
using BFloat16 = SmallFloat<8, 7>;

/// The same to and from float32, in a few operations without a branch, which
/// compilers turn into vector code: for rows whose arithmetic is float32.
[[nodiscard]] constexpr float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

[[nodiscard]] constexpr float to_float(Float16 value) noexcept {
  const std::uint32_t magnitude = value.bits & 0x7FFFU;
  const std::uint32_t sign = std::uint32_t{value.bits} >> 15 << 31;
  // Read as float32, the same bits are a number that is 2^112 times too small, for normal and
  // subnormal ones alike.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  const std::uint32_t not_finite = 0x7F800000U | magnitude << 13;
  const std::uint32_t bits =
      magnitude >= Float16::kInfinity ? not_finite : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

[[nodiscard]] constexpr BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  const std::uint32_t rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
  BFloat16 result;
  result.bits = static_cast<std::uint16_t>((is_nan ? bits | 0x400000U : rounded) >> 16);
  return result;
}

[[nodiscard]] constexpr Float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  // Below the normal numbers the last bit is always worth 2^-24: adding a number whose last bit is
  // worth as much rounds to it.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) -
                                  std::bit_cast<std::uint32_t>(0.5F);
  const std::uint32_t normal = (size - (112U << 23) + 0xFFFU + (size >> 13 & 1U)) >> 13;
  const std::uint32_t not_finite = size > 0x7F800000U ? 0x7E00U : Float16::kInfinity;
  std::uint32_t magnitude = size < 113U << 23 ? subnormal : normal;
  magnitude = size >= 143U << 23 ? not_finite : magnitude;
  Float16 result;
  result.bits = static_cast<std::uint16_t>(magnitude | (bits >> 16 & 0x8000U));
  return result;
}

}  // namespace tautstring::detail
