// Images of CIFAR-10: 32 x 32 pixels, red, green and blue interleaved.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tautstring_tasks::cifar10c {

inline constexpr int kSize = 32;
inline constexpr int kColours = 3;
inline constexpr int kPixels = kSize * kSize;
inline constexpr int kValues = kPixels * kColours;

using Image = std::span<const std::uint8_t, kValues>;
using Result = std::span<std::uint8_t, kValues>;

/// A value per pixel and colour, or per pixel.
template <class T>
using Colours = std::array<T, kValues>;
template <class T>
using Plane = std::array<T, kPixels>;

/// An index that is computed in int; it is not negative.
[[nodiscard]] constexpr std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

/// The index of a pixel; times kColours: of its red value.
[[nodiscard]] constexpr std::size_t pixel_at(int y, int x) {
  return to_index(y * kSize + x);
}
[[nodiscard]] constexpr std::size_t value_at(int y, int x, int colour) {
  return to_index((y * kSize + x) * kColours + colour);
}

/// An image in [0, 1].
template <class T>
[[nodiscard]] Colours<T> scaled(Image image) {
  Colours<T> values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<T>(static_cast<double>(image[i]) / 255);
  }
  return values;
}

/// Clips to [0, 1] and multiplies by 255. The fraction is dropped, not rounded: so does the
/// original, and half a level counts at low contrast.
template <class T>
[[nodiscard]] std::uint8_t to_byte(T value) {
  return static_cast<std::uint8_t>(std::clamp(value, T{0}, T{1}) * T{255});
}

template <class T>
void store(const Colours<T>& values, Result result) {
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = to_byte(values[i]);
}

}  // namespace tautstring_tasks::cifar10c
