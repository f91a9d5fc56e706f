// float16 and bfloat16, all values.
#include "step/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tautstring::testing {
namespace {

template <class T>
class SmallFloats : public ::testing::Test {};
using Types = ::testing::Types<detail::Float16, detail::BFloat16>;
TYPED_TEST_SUITE(SmallFloats, Types);

template <class T>
T from_bits(std::uint32_t bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

TYPED_TEST(SmallFloats, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = from_bits<TypeParam>(bits);
    const double wide = static_cast<double>(value);
    if (std::isnan(wide)) {
      EXPECT_GT(bits & 0x7FFFU, TypeParam::kInfinity);
      EXPECT_TRUE(std::isnan(static_cast<double>(TypeParam(wide))));
    } else {
      ASSERT_EQ(TypeParam(wide).bits, bits);
    }
  }
}

TYPED_TEST(SmallFloats, RoundsToNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits + 1 < TypeParam::kInfinity; ++bits) {
    const double low = static_cast<double>(from_bits<TypeParam>(bits));
    const double high = static_cast<double>(from_bits<TypeParam>(bits + 1));
    ASSERT_LT(low, high);
    const double middle = (low + high) / 2;  // exact in float64
    ASSERT_EQ(TypeParam(middle).bits, bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(TypeParam(std::nextafter(middle, low)).bits, bits);
    ASSERT_EQ(TypeParam(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(TypeParam(-middle).bits, 0x8000U | (bits % 2 == 0 ? bits : bits + 1));
  }
}

TYPED_TEST(SmallFloats, OverflowsToInfinityFromTheMiddleOn) {
  const double largest = static_cast<double>(from_bits<TypeParam>(TypeParam::kInfinity - 1));
  const double below = static_cast<double>(from_bits<TypeParam>(TypeParam::kInfinity - 2));
  const double middle = largest + (largest - below) / 2;
  EXPECT_EQ(TypeParam(std::nextafter(middle, 0)).bits, TypeParam::kInfinity - 1);
  EXPECT_EQ(TypeParam(middle).bits, TypeParam::kInfinity);
  EXPECT_EQ(TypeParam(std::numeric_limits<double>::max()).bits, TypeParam::kInfinity);
  EXPECT_EQ(TypeParam(-std::numeric_limits<double>::infinity()).bits,
            0x8000U | TypeParam::kInfinity);
}

TYPED_TEST(SmallFloats, TheSmallestFloat64RoundsToZero) {
  EXPECT_EQ(TypeParam(std::numeric_limits<double>::denorm_min()).bits, 0);
  EXPECT_EQ(TypeParam(-0.0).bits, 0x8000U);
}

TEST(SmallFloats, KnownPatterns) {
  EXPECT_EQ(detail::Float16(1.0).bits, 0x3C00);
  EXPECT_EQ(detail::Float16(65504.0).bits, 0x7BFF);
  EXPECT_EQ(detail::Float16(0x1p-24).bits, 0x0001);
  EXPECT_EQ(detail::BFloat16(1.0).bits, 0x3F80);
  EXPECT_EQ(static_cast<double>(from_bits<detail::BFloat16>(0x4049)), 3.140625);
}

template <class T>
T from_float(float value) {
  if constexpr (std::is_same_v<T, detail::BFloat16>) {
    return detail::to_bfloat16(value);
  } else {
    return detail::to_float16(value);
  }
}

TYPED_TEST(SmallFloats, Float32RoundTripIsThatOfFloat64) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = from_bits<TypeParam>(bits);
    const auto wide = static_cast<double>(value);
    const float single = detail::to_float(value);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(single)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<double>(from_float<TypeParam>(single)))) << bits;
      continue;
    }
    EXPECT_EQ(std::bit_cast<std::uint32_t>(single),
              std::bit_cast<std::uint32_t>(static_cast<float>(wide)))
        << bits;
    EXPECT_EQ(from_float<TypeParam>(single).bits, value.bits);
  }
}

TYPED_TEST(SmallFloats, Float32RoundsAsFloat64Does) {
  // Every exponent, with the fractions that are near a tie or a carry.
  for (std::uint32_t top = 0; top < 65536; ++top) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x0FFFU, 0x1000U, 0x1001U, 0x2FFFU, 0x3000U,
                                    0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      const auto value = std::bit_cast<float>(top << 16 | low);
      if (std::isnan(value)) continue;
      ASSERT_EQ(from_float<TypeParam>(value).bits, TypeParam(static_cast<double>(value)).bits)
          << value;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
