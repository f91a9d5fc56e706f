// The 1D total variation proximity operator, its gradients, and functions that read its solution.
// For every row of x independently:
//
//   y = argmin_y  1/2 sum_i weight_i (y_i - x_i)^2  +  sum_i lam_i |y_{i+1} - y_i|
//
// The solution is exact (no iterations, no tolerance) and takes time linear in n, whatever the
// data. It is the same bit for bit for any number of threads and any position of the row in the
// batch.
#pragma once

#include <cstdint>
#include <span>

#include "tautstring/context.h"
#include "tautstring/export.h"
#include "tautstring/partition.h"
#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring {

/// The penalty: a number for all rows, or an array that broadcasts to x (dimensions aligned from
/// the last one; x is never enlarged) and whose size along `dim` is 1 (one per row) or n - 1 (one
/// per edge). Each value is >= 0; infinity is allowed.
struct Lam {
  double number = 0;
  ConstView array;  // used instead of `number` if given

  constexpr Lam(double value) noexcept : number(value) {}  // NOLINT(google-explicit-constructor)
  constexpr Lam(const ConstView& values) noexcept          // NOLINT(google-explicit-constructor)
      : array(values) {}
  constexpr Lam(const View& values) noexcept  // NOLINT(google-explicit-constructor)
      : array(values) {}
};

/// smooth: y = prox(x). sharp: y = x + (x - prox(x)), rounded once; a missing sample has no value
/// to sharpen and gets prox(x).
enum class Mode : std::uint8_t { smooth, sharp };

/// One batch of 1D problems: the rows of x run along `dim`; its other dimensions are the batch.
struct Problem1d {
  ConstView x;
  Lam lam = 0.0;
  /// Data weights, broadcasting to x: finite, >= 0, and within a row none more than 2^100 times
  /// another one that is not 0. Not given: all 1. A sample of weight 0 is missing: x is not read
  /// there (it may be NaN). A run of missing samples between two present ones acts as one edge with
  /// the smallest lam of the run; a jump is placed at the last edge with that lam. Leading and
  /// trailing runs take the nearest present value.
  ConstView weight = {};
  int dim = -1;
  Mode mode = Mode::smooth;
};

/// Number of rows of a view along `dim`; 0 if the view is not valid.
[[nodiscard]] TAUTSTRING_API std::int64_t row_count(const ConstView& x, int dim = -1) noexcept;

/// Row length of a view along `dim` (1 for a view without dimensions).
[[nodiscard]] TAUTSTRING_API std::int64_t row_length(const ConstView& x, int dim = -1) noexcept;

/// Solves all rows. `y` has x's shape and dtype and may be x itself (same data
/// and strides). `partition`, if not empty, has row_count * partition_words
/// elements.
///
/// A row whose lam is 0 everywhere is copied bit for bit (its missing samples get the bits of their
/// left neighbour). Any other row with a non-finite sample, or with every sample missing, becomes
/// NaN with a partition of one segment; the remaining rows are exact. lam = infinity gives the
/// (weighted) mean.
///
/// A bad value of lam or weight is an error on the CPU. On CUDA only a bad number is: the values of
/// arrays are not checked before the launch, and a row with a bad value becomes NaN with a
/// partition of one segment.
///
/// \code
/// std::vector<float> x = {0, 1, 0, 9, 8, 9};
/// std::vector<float> y(6);
/// std::vector<std::uint32_t> partition(tautstring::partition_words(6));
/// const tautstring::Problem1d problem = {.x = tautstring::view(x.data(), {1, 6}), .lam = 1.0};
/// const tautstring::Status status =
///     tautstring::prox_tv1d(problem, tautstring::view(y.data(), {1, 6}), partition);
/// assert(status.ok());
/// assert(y[0] == y[2] && y[2] < y[3] && y[3] == y[5]);  // two segments
/// \endcode
TAUTSTRING_API Status prox_tv1d(const Problem1d& problem, const View& y,
                                std::span<std::uint32_t> partition = {},
                                const Context& context = {}) noexcept;

/// Size in bytes of the scratch memory of any call declared here and of certificate1d, for a batch
/// of x's shape (only the shape matters), with or without data weights, in this context. On the CPU
/// it grows with the executor's concurrency, and by 16 bytes per row for gradients of shared lams.
TAUTSTRING_API Status prox_tv1d_workspace(const ConstView& x, bool weighted, int dim,
                                          const Context& context, std::size_t& bytes) noexcept;

/// What the derivatives need of a forward call. Without data weights, only the partition is read;
/// with them, also x, the result y and the weights.
struct Solved1d {
  std::span<const std::uint32_t> partition;
  ConstView x = {};
  ConstView y = {};
  ConstView weight = {};
  int dim = -1;
  Mode mode = Mode::smooth;
};

/// The gradients to compute; those not given are skipped. `x` and `weight` have x's shape. `lam`
/// has x's shape except for size 1 (one per row) or n - 1 (one per edge) along dim. One per row, it
/// may also have size 1, or be missing, in batch dimensions, as lam itself: the gradients of rows
/// that share a lambda are summed, in float64 and always in the same order. A gradient per edge,
/// and any gradient on CUDA, has all of x's batch dimensions: there the caller sums.
struct Gradients1d {
  View x = {};
  View lam = {};
  View weight = {};
};

/// Computes the gradients of the arguments from the gradient of the result. On each segment S with
/// jump signs s at its borders and m = sum_S grad_y / sum_S weight:
///   x_i: weight_i m    lam: m (s_right - s_left)    weight_i: m (x_i - y_i)
/// A missing sample has gradient 0 for x, and for weight where x is not finite;
/// a row with every sample missing has gradient 0.
/// Each gradient may have any dtype; `gradients.x` may be grad_y itself.
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9}, y(4), g = {1, 0, 0, 0}, gx(4), glam(1);
/// std::vector<std::uint32_t> partition(1);
/// auto status = tautstring::prox_tv1d({.x = tautstring::view(x.data(), {4}), .lam = 1.0},
///                                   tautstring::view(y.data(), {4}), partition);
/// assert(status.ok());
/// status = tautstring::prox_tv1d_backward(
///     {.partition = partition}, tautstring::view(g.data(), {4}),
///     {.x = tautstring::view(gx.data(), {4}), .lam = tautstring::view(glam.data(), {1})});
/// assert(status.ok());
/// assert(gx[0] == 0.5 && gx[1] == 0.5 && gx[2] == 0 && glam[0] == 0.5);
/// \endcode
TAUTSTRING_API Status prox_tv1d_backward(const Solved1d& solved, const ConstView& grad_y,
                                         const Gradients1d& gradients,
                                         const Context& context = {}) noexcept;

/// Tangents of the arguments; those not given are 0. `x` has x's shape; `lam` and `weight`
/// broadcast as the arguments themselves do.
struct Tangents1d {
  ConstView x = {};
  ConstView lam = {};
  ConstView weight = {};
};

/// The forward derivative, the adjoint of prox_tv1d_backward: on each segment
///   dy = (sum_S weight dx + sum_S dweight (x - y) + s_right dlam_right - s_left dlam_left)
///        / sum_S weight.
/// It is also the double backward with respect to grad_y. `tangent_y` may be
/// `tangents.x` itself.
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9}, y(4), dx = {1, 0, 0, 0}, dy(4);
/// std::vector<std::uint32_t> partition(1);
/// auto status = tautstring::prox_tv1d({.x = tautstring::view(x.data(), {4}), .lam = 1.0},
///                                   tautstring::view(y.data(), {4}), partition);
/// assert(status.ok());
/// status = tautstring::prox_tv1d_jvp({.partition = partition},
///                                  {.x = tautstring::view(dx.data(), {4})},
///                                  tautstring::view(dy.data(), {4}));
/// assert(status.ok());
/// assert(dy[0] == 0.5 && dy[1] == 0.5 && dy[2] == 0);
/// \endcode
TAUTSTRING_API Status prox_tv1d_jvp(const Solved1d& solved, const Tangents1d& tangents,
                                    const View& tangent_y, const Context& context = {}) noexcept;

/// A segment of a solution: consecutive samples of equal value.
struct Segment {
  std::int64_t start = 0;
  std::int64_t length = 0;
  double value = 0;
  int sign = 0;  // of the jump to this segment: +1, -1, or 0 (Code::plain)
};

/// Counts the segments of each row: in the list of all segments, those of row r are elements
/// offsets[r] to offsets[r + 1] - 1. `offsets` has rows + 1 elements.
TAUTSTRING_API Status segments1d_offsets(std::span<const std::uint32_t> partition,
                                         std::int64_t rows, std::int64_t n,
                                         std::span<std::int64_t> offsets) noexcept;

/// Lists the segments of a solution y in host memory: its change points. `segments` has one element
/// per segment (offsets.back()).
///
/// \code
/// std::vector<double> x = {1, 2, 8, 9}, y(4);
/// std::vector<std::uint32_t> partition(1);
/// auto status = tautstring::prox_tv1d({.x = tautstring::view(x.data(), {4}), .lam = 1.0},
///                                   tautstring::view(y.data(), {4}), partition);
/// assert(status.ok());
/// std::vector<std::int64_t> offsets(2);
/// status = tautstring::segments1d_offsets(partition, 1, 4, offsets);
/// assert(status.ok());
/// std::vector<tautstring::Segment> segments(offsets.back());
/// status = tautstring::segments1d(tautstring::view(y.data(), {4}), partition, segments);
/// assert(status.ok());
/// assert(segments[1].start == 2 && segments[1].value == 8 && segments[1].sign == 1);
/// \endcode
TAUTSTRING_API Status segments1d(const ConstView& y, std::span<const std::uint32_t> partition,
                                 std::span<Segment> segments, int dim = -1) noexcept;

/// Writes, for each row, the smallest number lam for which the solution is constant. `out` has x's
/// shape except for size 1 along dim, and any dtype. NaN for a row that is empty or has a
/// non-finite sample.
TAUTSTRING_API Status lam_max(const ConstView& x, const View& out, const ConstView& weight = {},
                              int dim = -1, const Context& context = {}) noexcept;

/// Writes the total variation sum_i |x_{i+1} - x_i| of each row. `out` is as in lam_max.
TAUTSTRING_API Status tv(const ConstView& x, const View& out, int dim = -1,
                         const Context& context = {}) noexcept;

}  // namespace tautstring
