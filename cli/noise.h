// How much noise is in an image or a signal: a hint for the choice of lambda.
#pragma once

#include <optional>

#include "image_io.h"
#include "signal_io.h"

namespace tautstring::cli {

/// A lambda for images with noise, as a multiple of its standard deviation. The gallery compares it
/// with the best lambda of photos and scenes.
inline constexpr double kLamPerNoise = 0.7;

/// An estimate of the standard deviation of the noise in visible pixels, in units of the full
/// scale. It is the median of differences that flat areas, ramps and most edges do not have; fine
/// texture counts as noise. Empty if there are no 2 x 2 pixels.
[[nodiscard]] std::optional<double> noise_of(const Image& image);

/// The same along `dim` of a signal, in units of the samples. Empty if there are no three present
/// samples in a row.
[[nodiscard]] std::optional<double> noise_of(const Signal& signal, int dim);

}  // namespace tautstring::cli
