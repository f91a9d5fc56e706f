// Total variation of images: the bridge from pixels to the library's 1D calls.
// Alpha is never touched, and every colour band is a picture of its own, in which
// pixels count by their alpha: invisible ones are missing samples.
#pragma once

#include "image_io.h"
#include "tautline/tautline.h"

namespace tautline::cli {

enum class Axis { rows, cols };
enum class Direction { row, col, row_col };

/// What is done to an image. `lam` is in units of the image's full scale.
struct ImageTask {
  double lam = 0.05;
  Direction direction = Direction::row_col;
  Mode mode = Mode::smooth;
};

/// Works in place: along rows, along columns, or along rows and then along the
/// columns of what came out. A line that is transparent all along is kept.
void apply(const ImageTask& task, Image& image, Executor& executor);

/// The sum of the absolute differences of neighbours along an axis, in units
/// of the full scale.
[[nodiscard]] double total_variation(const Image& image, Axis axis, Executor& executor);

/// The smallest lam (in units of the full scale) from which on every row or
/// column comes out constant (but for those that are transparent all along).
[[nodiscard]] double largest_lam_max(const Image& image, Axis axis, Executor& executor);

/// How many pairs of neighbours an axis has.
[[nodiscard]] double pair_count(const Image& image, Axis axis);

}  // namespace tautline::cli
