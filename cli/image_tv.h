// Total variation of images: maps pixels to calls of the library. Alpha is never
// changed. Each colour band is solved independently, and invisible pixels do not
// affect the result.
#pragma once

#include <optional>

#include "image_io.h"
#include "tautstring/tautstring.h"

namespace tautstring::cli {

enum class Axis { rows, cols };
enum class Direction { image, row, col };

/// What is done to an image. `lam` is in units of the image's full scale.
struct ImageTask {
  double lam = 0.05;
  Direction direction = Direction::image;
  Mode mode = Mode::smooth;
  /// For whole images; a single direction is solved exactly. With a tolerance, results
  /// are polished, because `derivative` is implicit.
  Solver2d solver = {.method = Method2d::accelerated,
                     .iterations = 256,
                     .tol = 1e-4,
                     .derivative = Derivative2d::implicit};
};

/// Upper bounds on how far a result is from the exact solution, proved by its duality gap.
struct Convergence {
  int iterations = 0;     // the largest number of all bands
  double gap = 0;         // the duality gap relative to the objective, of the worst band
  double rms_bound = 0;   // bound on the RMS distance of visible pixels from the solution, in units
                          // of the full scale
  bool converged = true;  // whether all gaps are within the solver's tolerance
};

/// Works in place: on the whole image, along rows, or along columns. Returns how near a
/// whole image came to its solution; lines are exact.
///
/// Along lines, pixels are weighted by their alpha, and a completely transparent line is
/// kept. In a whole image, pixels of alpha 0 are kept and all others count the same.
std::optional<Convergence> apply(const ImageTask& task, Image& image, Executor& executor);

/// The sum of the absolute differences of neighbours along an axis, in units
/// of the full scale.
[[nodiscard]] double total_variation(const Image& image, Axis axis, Executor& executor);

/// The smallest lam (in units of the full scale) for which every row or column becomes
/// constant (except completely transparent ones).
[[nodiscard]] double largest_lam_max(const Image& image, Axis axis, Executor& executor);

/// The number of pairs of neighbours along an axis.
[[nodiscard]] double pair_count(const Image& image, Axis axis);

}  // namespace tautstring::cli
