// Images for tests, and calls of the 2D API on them with float64 arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/tv2d_iterations.h"
#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {

/// A batch with one lam per edge; also used for derivatives.
struct ImageBatch {
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<double> x;
  std::vector<double> lam_rows;
  std::vector<double> lam_cols;

  ImageBatch(std::int64_t count, std::int64_t height, std::int64_t width);
  [[nodiscard]] std::size_t pixels() const { return static_cast<std::size_t>(height * width); }

  /// All arrays, and one image of them for the oracles.
  [[nodiscard]] Problem2d problem(Mode mode = Mode::smooth) const;
  [[nodiscard]] reference::Problem2d image(std::int64_t index) const;
};

/// Noise of size 1, and lams of `lam` times .5 to 1.5.
ImageBatch random_images(Random& random, std::int64_t count, std::int64_t height,
                         std::int64_t width, double lam);

/// The sum of the products of all elements.
double inner(std::span<const double> a, std::span<const double> b);
double inner(const ImageBatch& a, const ImageBatch& b);

/// A forward call with all its results, and its derivatives.
struct SolvedImagesCall {
  SolvedImagesCall(const ImageBatch& batch, const Solver2d& solver, Mode mode = Mode::smooth,
                   const Context& context = {});

  [[nodiscard]] Solved2d solved() const;
  [[nodiscard]] ImageBatch backward(std::span<const double> grad_y,
                                    const Context& context = {}) const;
  [[nodiscard]] std::vector<double> jvp(const ImageBatch& tangents,
                                        const Context& context = {}) const;

  ImageBatch shape;  // without values
  Solver2d solver;
  Mode mode;
  std::vector<double> y, dual, gap, momentum;
  std::vector<std::int32_t> iterations;
  std::vector<std::uint32_t> partitions;
};

}  // namespace tautstring::testing
