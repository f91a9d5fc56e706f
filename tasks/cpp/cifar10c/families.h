// The functions that make corruptions, one file per family. The severity is in 1..5.
#pragma once

#include <memory>
#include <span>

#include "cifar10c/corruption.h"

namespace tautstring_tasks::cifar10c {

using Made = std::unique_ptr<const Corruption>;

/// A constant for each severity.
template <class T>
using PerSeverity = std::array<T, kSeverities>;

template <class T>
[[nodiscard]] constexpr const T& constant_of(const PerSeverity<T>& constants, int severity) {
  return constants[static_cast<std::size_t>(severity - 1)];
}

[[nodiscard]] Made make_gaussian_noise(int severity);
[[nodiscard]] Made make_shot_noise(int severity);
[[nodiscard]] Made make_impulse_noise(int severity);
[[nodiscard]] Made make_defocus_blur(int severity);
[[nodiscard]] Made make_glass_blur(int severity);
[[nodiscard]] Made make_motion_blur(int severity);
[[nodiscard]] Made make_zoom_blur(int severity);
[[nodiscard]] Made make_snow(int severity);
[[nodiscard]] Made make_frost(int severity, std::span<const Overlay> overlays);
[[nodiscard]] Made make_fog(int severity);
[[nodiscard]] Made make_brightness(int severity);
[[nodiscard]] Made make_contrast(int severity);
[[nodiscard]] Made make_elastic_transform(int severity);
[[nodiscard]] Made make_pixelate(int severity);
[[nodiscard]] Made make_jpeg_compression(int severity);

}  // namespace tautstring_tasks::cifar10c
