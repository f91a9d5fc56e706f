// The 2D total variation proximity operator. For every image of x on its own:
//
//   Y = argmin_Y  1/2 |Y - X|^2  +  sum over edges along rows     lam_rows_e |difference of Y|
//                                +  sum over edges along columns  lam_cols_e |difference of Y|
//
// It is solved by exact 1D solves of all rows and all columns in turn (a pass each, two an
// iteration): the first iterations are the layer of the paper, and with enough of them the
// result is as near to the optimum as is asked for. How near it is at least, the duality gap
// tells.
#pragma once

#include <cstdint>
#include <span>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/view.h"

namespace tautstring {

/// One batch of images: rows run along `width_dim`, columns along `height_dim`; everything else
/// of x's shape is the batch.
struct Problem2d {
  ConstView x;
  /// Along rows and along columns: a number for all, or an array that broadcasts to x and has
  /// along its direction size 1 or one element an edge.
  Lam lam_rows = 0.0;
  Lam lam_cols = 0.0;
  int height_dim = -2;
  int width_dim = -1;
  Mode mode = Mode::smooth;
};

/// dykstra: the paper's Algorithm 1. accelerated: the same passes with momentum, which is
/// started anew where it leads away; it needs far fewer of them. Take it with a tolerance.
enum class Method2d : std::uint8_t { dykstra, accelerated };

/// What the derivatives are those of. unrolled: of the result as it was computed, from the
/// partitions of all passes. implicit: of the exact solution, from those of the last two
/// alone, for calls that have come near it (a gap of 1e-5 of the objective or less).
enum class Derivative2d : std::uint8_t { unrolled, implicit };

/// What Python and LibTorch do where the caller does not say: with a tolerance the accelerated
/// method, which needs far fewer iterations to reach it.
[[nodiscard]] constexpr Method2d default_method(double tol) noexcept {
  return tol > 0 ? Method2d::accelerated : Method2d::dykstra;
}
[[nodiscard]] constexpr int default_iterations(Method2d method, double tol = 0) noexcept {
  constexpr int kMostWithTolerance = 128;
  if (tol > 0) return kMostWithTolerance;
  return method == Method2d::dykstra ? 4 : 16;
}
/// The tolerance that images are held to where the caller gives none.
[[nodiscard]] constexpr double default_tolerance(DType dtype) noexcept {
  return dtype == DType::float64 ? 1e-6 : 1e-4;
}

struct Solver2d {
  Method2d method = Method2d::dykstra;
  int iterations = default_iterations(Method2d::dykstra);  // two passes each; with `tol`, at most
  /// Where it is above 0, each image stops once its duality gap is at most tol times its
  /// objective, before the result is rounded to its dtype. The gap is checked every fourth
  /// iteration.
  double tol = 0;
  /// Of which derivatives Results2d::partitions is for. implicit with `tol` also takes the
  /// values that its components have for the result where these have the smaller gap.
  Derivative2d derivative = Derivative2d::unrolled;
  /// What an earlier call on similar images left in Results2d::dual: iterations start there, and
  /// at 0 in an image where it is not finite. Derivatives take it for constant.
  ConstView start = {};
};

/// What a call leaves; all but `y` only where it is asked for. On CUDA all of it is in the
/// device's memory.
struct Results2d {
  View y;  // of x's shape and dtype; may be x itself (same data and strides)
  /// For the derivatives: saved_words2d elements, and unrolled the momentum of each
  /// iteration, image by image.
  std::span<std::uint32_t> partitions = {};
  std::span<double> momentum = {};
  /// Of x's shape: the part of X - Y that the columns hold, from which the rows' part follows.
  View dual = {};
  /// Of each image. The gap is an upper bound on how far the objective at Y is from the optimum, of
  /// Y as it is returned: rounded to its dtype and, in mode sharp, of the smooth image that it
  /// stands for, X - (Y - X). So it may be above the tolerance that an image has stopped at, where
  /// a 16-bit dtype cannot hold the result that well. It is infinite where Y has overflowed its
  /// dtype. An image that is copied, and one that is NaN, has no iterations; gap and objective of
  /// the one are 0, of the other NaN.
  std::span<double> gap = {};
  std::span<double> objective = {};  // at the same Y
  /// 1 where the gap is at most `tol` (without one default_tolerance) times the objective, else 0.
  std::span<std::uint8_t> converged = {};
  std::span<std::int32_t> iterations = {};
};

/// Number of images of a view, 0 where the view is not a valid batch of them.
[[nodiscard]] TAUTSTRING_API std::int64_t image_count(const ConstView& x, int height_dim = -2,
                                                      int width_dim = -1) noexcept;

/// Words that the partitions of `iterations` (one implicit) over a batch of x's shape take:
/// 4 bits a pixel and iteration, rows and columns rounded up to whole words each. 0 where x is no
/// batch of images.
[[nodiscard]] TAUTSTRING_API std::int64_t saved_words2d(const ConstView& x, int iterations,
                                                        int height_dim = -2,
                                                        int width_dim = -1) noexcept;

/// Scratch bytes for prox_tv2d and gap2d on such a problem and for the derivatives of its result,
/// in this context. Only shapes and dtypes count: derivatives may give grad_y for x, and for lams
/// the gradients of these.
TAUTSTRING_API Status prox_tv2d_workspace(const Problem2d& problem, const Context& context,
                                          std::size_t& bytes) noexcept;

/// Those for prox_tv2d by this solver alone, with neither dual nor gap, and for
/// prox_tv2d_backward of its result. On CUDA small images need none then, unless the solver has a
/// tolerance, a start or the derivatives of the solution.
TAUTSTRING_API Status prox_tv2d_workspace(const Problem2d& problem, const Solver2d& solver,
                                          const Context& context, std::size_t& bytes) noexcept;

/// Solves all images.
///
/// An image whose lams are 0 everywhere is copied bit for bit. Otherwise an image with a sample
/// that is not finite comes out NaN; the others are not touched by it.
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

/// An image of x's shape for each of x's, whoever computed it.
struct Candidate2d {
  ConstView y;
  /// What a call of prox_tv2d on the problem left in Results2d::dual, or anything else: the better
  /// it is, the smaller the gap. It is taken for 0 in an image where it is not finite.
  ConstView dual = {};
};

/// For each image what the objective at y is above the optimum, at most: the duality gap
///   sum over edges (lam |rise of Y| - u rise of Y) + 1/2 |X - Y - P - Q|^2
/// by dual variables u of the edges, |u| <= lam, that X's rows and columns hold: P and Q.
///
/// With `dual` these are what one iteration makes of it: for a result of prox_tv2d the gap is then
/// no more than the one that came with it. Without, they are those of the accelerated method, from
/// 0 on, until the gap is within a hundredth of what y really is above the optimum, or for 128
/// iterations: of a y that is nearer to the optimum than these come, the gap says how near they do.
///
/// It is worked out in float64, whatever the dtypes; all its terms are >= 0, so that it lacks
/// nothing but their rounding, at most 1e-14 of the objective at y. NaN where x or y is not finite,
/// also if lams are 0; infinite where float64 cannot hold it. `problem.mode` must be smooth. `gap`
/// has one element an image.
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

/// What a forward call leaves for its derivatives: they need neither x nor y. An image that
/// stopped early has fewer iterations than others.
struct Solved2d {
  std::span<const std::uint32_t> partitions;
  std::span<const double> momentum = {};    // not given: none, as in Dykstra's
  std::span<const std::int32_t> done = {};  // Results2d::iterations; not given: all
  int iterations = 4;                       // those of the call: what was saved for
  Derivative2d derivative = Derivative2d::unrolled;
  int height_dim = -2;
  int width_dim = -1;
  Mode mode = Mode::smooth;
};

/// Gradients wanted; those not given are not computed. `x` has x's shape; `lam_rows` has it but
/// for size 1 or width - 1 along rows, `lam_cols` but for size 1 or height - 1 along columns:
/// where several lines share a lambda, sum over them.
struct Gradients2d {
  View x = {};
  View lam_rows = {};
  View lam_cols = {};
};

/// From the gradient of the result to those of the arguments.
///
/// unrolled: through the passes from the last to the first, each by its partition alone. The
/// momentum is taken for constant, as it is but for where an image starts it anew.
///
/// implicit: Y is constant on components, the pixels that the last passes over rows and
/// columns, taken together, do not separate.
///   x: the mean of grad_y over the component    lam of an edge: -(sign of its jump) times the
///   difference of that over it.
TAUTSTRING_API Status prox_tv2d_backward(const Solved2d& solved, const ConstView& grad_y,
                                         const Gradients2d& gradients,
                                         const Context& context = {}) noexcept;

/// Directions of the arguments; those not given are 0. `x` has x's shape; lams broadcast as the
/// arguments themselves do.
struct Tangents2d {
  ConstView x = {};
  ConstView lam_rows = {};
  ConstView lam_cols = {};
};

/// The forward derivative, adjoint to prox_tv2d_backward: also the double backward with respect
/// to grad_y. `tangent_y` may be `tangents.x` itself.
TAUTSTRING_API Status prox_tv2d_jvp(const Solved2d& solved, const Tangents2d& tangents,
                                    const View& tangent_y, const Context& context = {}) noexcept;

}  // namespace tautstring
