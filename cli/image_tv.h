// Total variation of images: the bridge from pixels to the library's calls. Alpha
// is never touched, and every colour band is a picture of its own, to which pixels
// that nobody sees add nothing.
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
  /// For whole images; rows and columns alone are solved exactly. With a tolerance
  /// results are polished, which implicit asks for.
  Solver2d solver = {.method = Method2d::accelerated,
                     .iterations = 256,
                     .tol = 1e-4,
                     .derivative = Derivative2d::implicit};
};

/// How near a result is to the exact solution at least: its duality gap proves that.
struct Convergence {
  int iterations = 0;    // of the band that took the most
  double gap = 0;        // of the objective, what it is above the optimum at most; the worst band's
  double rms_bound = 0;  // the RMS distance of visible pixels from the solution at most, in units
                         // of the full scale
  bool converged = true;  // whether all gaps are within the solver's tolerance
};

/// Works in place: on the whole image, along rows, or along columns. Tells how near
/// a whole image came to its solution; lines are exact.
///
/// Along lines pixels count by their alpha, and a line that is transparent all along
/// is kept. In a whole image those of alpha 0 are kept and the others count alike.
std::optional<Convergence> apply(const ImageTask& task, Image& image, Executor& executor);

/// The sum of the absolute differences of neighbours along an axis, in units
/// of the full scale.
[[nodiscard]] double total_variation(const Image& image, Axis axis, Executor& executor);

/// The smallest lam (in units of the full scale) from which on every row or
/// column comes out constant (but for those that are transparent all along).
[[nodiscard]] double largest_lam_max(const Image& image, Axis axis, Executor& executor);

/// How many pairs of neighbours an axis has.
[[nodiscard]] double pair_count(const Image& image, Axis axis);

}  // namespace tautstring::cli
