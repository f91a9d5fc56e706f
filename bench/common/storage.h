// The element types that are measured, and their names in the results.
#pragma once

#include <tautstring/tautstring.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace bench {

/// Storage of a bfloat16: the upper half of a float32. constexpr, so that GPU code can convert too.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit constexpr BFloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    bits = static_cast<std::uint16_t>((word + 0x7FFFU + (word >> 16U & 1U)) >> 16U);
  }
  explicit constexpr operator double() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
  }
};

template <class T>
struct Storage;
template <>
struct Storage<float> {
  static constexpr const char* kName = "fp32";
  static constexpr auto kDType = tautstring::DType::float32;
  static constexpr double kUnitInLastPlace = 0x1p-23;  // relative
};
template <>
struct Storage<double> {
  static constexpr const char* kName = "fp64";
  static constexpr auto kDType = tautstring::DType::float64;
  static constexpr double kUnitInLastPlace = 0x1p-52;
};
template <>
struct Storage<BFloat16> {
  static constexpr const char* kName = "bf16";
  static constexpr auto kDType = tautstring::DType::bfloat16;
  static constexpr double kUnitInLastPlace = 0x1p-7;
};

template <class T>
[[nodiscard]] std::vector<double> widened(std::span<const T> values) {
  std::vector<double> wide(values.size());
  std::ranges::transform(values, wide.begin(), [](T value) { return static_cast<double>(value); });
  return wide;
}

/// The most that rounding to T may change any of the values.
template <class T>
[[nodiscard]] double rounding_of(std::span<const double> values) {
  const auto [low, high] = std::ranges::minmax(values);
  return Storage<T>::kUnitInLastPlace * std::max(std::abs(low), std::abs(high));
}

/// A view of a contiguous array.
template <class T>
[[nodiscard]] auto view_of(T* data, const tautstring::Sizes& shape) {
  using Data = std::conditional_t<std::is_const_v<T>, const void, void>;
  return tautstring::view(static_cast<Data*>(data), Storage<std::remove_const_t<T>>::kDType, shape);
}

}  // namespace bench
