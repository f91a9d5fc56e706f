// The 2D total variation proximity operator. For every image of x independently:
//
//   Y = argmin_Y  1/2 |Y - X|^2  +  sum over edges along rows     lam_rows_e |difference of Y|
//                                +  sum over edges along columns  lam_cols_e |difference of Y|
//
// It is solved by exact 1D solves of all rows and all columns in turn: each is a pass, and two
// passes are an iteration. The first iterations are the layer of the paper. With enough of them,
// the result is as near to the optimum as requested; the duality gap is an upper bound on the
// distance.
#pragma once

#include <cstdint>
#include <span>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/view.h"

namespace tautstring {

/// One batch of images: rows run along `width_dim`, columns along `height_dim`; the other
/// dimensions of x are the batch.
struct Problem2d {
  ConstView x;
  /// The penalties along rows and along columns: a number for all, or an array that broadcasts to
  /// x and whose size along its own direction is 1 or the number of edges. Where both are the same,
  /// errors name them `lam`.
  Lam lam_rows = 0.0;
  Lam lam_cols = 0.0;
  int height_dim = -2;
  int width_dim = -1;
  Mode mode = Mode::smooth;
};

/// dykstra: the paper's Algorithm 1. accelerated: the same passes with momentum, which restarts
/// when it moves away from the solution; it needs far fewer passes. Use it with a tolerance.
enum class Method2d : std::uint8_t { dykstra, accelerated };

/// What is differentiated. unrolled: the result as it was computed, from the partitions of all
/// passes. implicit: the exact solution, from the partitions of the last two passes, for calls
/// that have come near it: the nearer, the fewer pixels are in a wrong component.
enum class Derivative2d : std::uint8_t { unrolled, implicit };

/// The defaults of Python and LibTorch: with a tolerance, the accelerated method, which needs far
/// fewer iterations to reach it.
[[nodiscard]] constexpr Method2d default_method(double tol) noexcept {
  return tol > 0 ? Method2d::accelerated : Method2d::dykstra;
}
[[nodiscard]] constexpr int default_iterations(Method2d method, double tol = 0) noexcept {
  constexpr int kMostWithTolerance = 128;
  if (tol > 0) return kMostWithTolerance;
  return method == Method2d::dykstra ? 4 : 16;
}
/// The tolerance that decides whether an image has converged if the caller gives none.
[[nodiscard]] constexpr double default_tolerance(DType dtype) noexcept {
  return dtype == DType::float64 ? 1e-6 : 1e-4;
}

struct Solver2d {
  Method2d method = Method2d::dykstra;
  int iterations = default_iterations(Method2d::dykstra);  // two passes each; with `tol`, at most
  /// If above 0, each image stops once its duality gap is at most tol times its objective, before
  /// the result is rounded to its dtype. The gap is checked every fourth iteration.
  double tol = 0;
  /// The derivatives that Results2d::partitions is for. implicit with `tol` also replaces the
  /// result by the values of its components if these have the smaller gap.
  Derivative2d derivative = Derivative2d::unrolled;
  /// Results2d::dual of an earlier call on similar images: iterations start there, or at 0 in an
  /// image where it is not finite. Derivatives treat it as a constant.
  ConstView start = {};
};

/// What a call writes; all but `y` are optional. On CUDA all of it is in device memory.
struct Results2d {
  View y;  // of x's shape and dtype; may be x itself (same data and strides)
  /// For the derivatives: saved_words2d elements and, if unrolled, the momentum of each
  /// iteration, image by image.
  std::span<std::uint32_t> partitions = {};
  std::span<double> momentum = {};
  /// Of x's shape: the columns' part of X - Y, which also determines the rows' part.
  View dual = {};
  /// One element per image. The gap is an upper bound on how far the objective at Y is from the
  /// optimum. It holds for Y as returned, rounded to its dtype; in mode sharp, for the smooth image
  /// that Y represents, X - (Y - X). So it may exceed the tolerance at which an image stopped, if a
  /// 16-bit dtype cannot represent the result that well. It is infinite if Y overflows its dtype.
  /// An image that is copied or NaN has no iterations; its gap and objective are 0 if it is copied,
  /// NaN if it is NaN.
  std::span<double> gap = {};
  std::span<double> objective = {};  // at the same Y
  /// 1 if the gap is at most `tol` (or default_tolerance without one) times the objective, else 0.
  std::span<std::uint8_t> converged = {};
  std::span<std::int32_t> iterations = {};
};

/// Number of images of a view; 0 if the view is not a valid batch of images.
[[nodiscard]] TAUTSTRING_API std::int64_t image_count(const ConstView& x, int height_dim = -2,
                                                      int width_dim = -1) noexcept;

/// Size in words of the partitions of `iterations` iterations (one if implicit) over a batch of
/// x's shape: 4 bits per pixel and iteration, with each row and column rounded up to whole words.
/// 0 if x is not a valid batch of images.
[[nodiscard]] TAUTSTRING_API std::int64_t saved_words2d(const ConstView& x, int iterations,
                                                        int height_dim = -2,
                                                        int width_dim = -1) noexcept;

/// Size in bytes of the scratch memory of prox_tv2d and gap2d on such a problem, and of the
/// derivatives of its result, in this context. Only shapes and dtypes matter: for derivatives,
/// grad_y may be passed as x, and the gradients of the lams as the lams.
TAUTSTRING_API Status prox_tv2d_workspace(const Problem2d& problem, const Context& context,
                                          std::size_t& bytes) noexcept;

/// The same for prox_tv2d with this solver only, without dual, gap, objective and
/// converged, and for prox_tv2d_backward of its result. Small images on CUDA then need none, unless
/// the solver has a tolerance, a start or implicit derivatives.
TAUTSTRING_API Status prox_tv2d_workspace(const Problem2d& problem, const Solver2d& solver,
                                          const Context& context, std::size_t& bytes) noexcept;

/// Solves all images.
///
/// An image whose lams are 0 everywhere is copied bit for bit. Any other image with a non-finite
/// sample becomes NaN; the remaining images are not affected.
///
/// \code
/// std::vector<float> x = {0, 0, 9, 9,  0, 1, 9, 9,  0, 0, 9, 8};
/// std::vector<float> y(12);
/// std::vector<double> gap(1);
/// const tautstring::Problem2d problem = {
///     .x = tautstring::view(x.data(), {3, 4}), .lam_rows = 1.0, .lam_cols = 1.0};
/// const tautstring::Solver2d solver = {
///     .method = tautstring::Method2d::accelerated, .iterations = 30};
/// const tautstring::Status status = tautstring::prox_tv2d(
///     problem, solver, {.y = tautstring::view(y.data(), {3, 4}), .gap = gap});
/// assert(status.ok());
/// assert(gap[0] < 1e-4 && y[1] < y[2]);
/// \endcode
TAUTSTRING_API Status prox_tv2d(const Problem2d& problem, const Solver2d& solver,
                                const Results2d& results, const Context& context = {}) noexcept;

/// A candidate solution for each image of x, from any source.
struct Candidate2d {
  ConstView y;  // of x's shape
  /// Results2d::dual of a call of prox_tv2d on the problem, or anything else: the better it is, the
  /// smaller the gap. In an image where it is not finite, 0 is used instead.
  ConstView dual = {};
};

/// For each image, computes an upper bound on how far the objective at y is from the optimum: the
/// duality gap
///   sum over edges (lam |rise of Y| - u rise of Y) + 1/2 |X - Y - P - Q|^2
/// for dual variables u of the edges, |u| <= lam. P and Q are their contributions along rows and
/// along columns.
///
/// With `dual`, one iteration turns it into the dual variables; for a result of prox_tv2d the gap
/// is then at most the one that the call reported. Without it, the accelerated method computes them
/// from 0, until the gap is within 1 % of the true distance of y's objective from the optimum, or
/// for 128 iterations. If y is nearer to the optimum than these iterations get, the gap shows how
/// near they get.
///
/// It is computed in float64, whatever the dtypes. All its terms are >= 0, so its only error is
/// their rounding, at most 1e-14 of the objective at y. It is NaN if x or y is not finite, even if
/// lams are 0, and infinite if it overflows float64. `problem.mode` must be smooth. `gap` has one
/// element per image.
///
/// \code
/// std::vector<float> x = {0, 0, 9, 9,  0, 1, 9, 9,  0, 0, 9, 8};
/// std::vector<float> guess = {1, 1, 8, 8,  1, 1, 8, 8,  1, 1, 8, 8};
/// std::vector<double> gap(1);
/// const tautstring::Problem2d problem = {
///     .x = tautstring::view(x.data(), {3, 4}), .lam_rows = 1.0, .lam_cols = 1.0};
/// const tautstring::Status status =
///     tautstring::gap2d(problem, {.y = tautstring::view(guess.data(), {3, 4})}, gap);
/// assert(status.ok());
/// assert(gap[0] > 0.66 && gap[0] < 0.67);  // 2/3: values of 2/3 and 25/3 are better
/// \endcode
TAUTSTRING_API Status gap2d(const Problem2d& problem, const Candidate2d& candidate,
                            std::span<double> gap, const Context& context = {}) noexcept;

/// What the derivatives need of a forward call; they need neither x nor y. An image that stopped
/// early has fewer iterations than others.
struct Solved2d {
  std::span<const std::uint32_t> partitions;
  std::span<const double> momentum = {};    // not given: none, as in Dykstra's method
  std::span<const std::int32_t> done = {};  // Results2d::iterations; not given: all
  int iterations = 4;                       // of the call, which determine the saved size
  Derivative2d derivative = Derivative2d::unrolled;
  int height_dim = -2;
  int width_dim = -1;
  Mode mode = Mode::smooth;
};

/// The gradients to compute; those not given are skipped. `x` has x's shape. `lam_rows` has x's
/// shape except for size 1 or width - 1 along rows, `lam_cols` except for size 1 or height - 1
/// along columns. One per line, they may also have size 1, or be missing, in other dimensions, with
/// sums as in Gradients1d.
struct Gradients2d {
  View x = {};
  View lam_rows = {};
  View lam_cols = {};
};

/// Computes the gradients of the arguments from the gradient of the result.
///
/// unrolled: goes through the passes from the last to the first, using only their partitions. The
/// momentum is treated as a constant, which it is except where an image restarts it.
///
/// implicit: Y is constant on components, sets of pixels that the last passes over rows and
/// columns, taken together, do not separate.
///   x: the mean of grad_y over the component
///   lam of an edge: -(sign of its jump) times the difference of that mean across the edge
TAUTSTRING_API Status prox_tv2d_backward(const Solved2d& solved, const ConstView& grad_y,
                                         const Gradients2d& gradients,
                                         const Context& context = {}) noexcept;

/// Tangents of the arguments; those not given are 0. `x` has x's shape; lams broadcast as the
/// arguments themselves do.
struct Tangents2d {
  ConstView x = {};
  ConstView lam_rows = {};
  ConstView lam_cols = {};
};

/// Computes the forward derivative, the adjoint of prox_tv2d_backward; it is also the double
/// backward with respect to grad_y. `tangent_y` may be `tangents.x` itself.
TAUTSTRING_API Status prox_tv2d_jvp(const Solved2d& solved, const Tangents2d& tangents,
                                    const View& tangent_y, const Context& context = {}) noexcept;

}  // namespace tautstring
