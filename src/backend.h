// The interface between the public API and the devices: arguments that have been checked and laid
// out by rows, and the table of functions that each backend fills in. A backend may rely on sizes,
// dtypes and aliasing; it must check values itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "tautstring/context.h"
#include "tautstring/newton1d.h"
#include "tautstring/select1d.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/tv2d.h"
#include "tautstring/view.h"

namespace tautstring::detail {

/// Maximum number of batch dimensions that a backend supports, including the dimension of lines in
/// a batch of images. It is lower than for views, because evenly spaced dimensions have been
/// folded.
inline constexpr int kMaxBatchDims = 8;

/// The shape of a batch of rows. Row r is at the r-th index of the batch dimensions, last one
/// fastest.
struct Rows {
  std::int64_t count = 0;
  std::int32_t n = 0;
  int dim = 0;  // number of batch dimensions before the one that rows run along
  int batch_dims = 0;
  std::int64_t batch_shape[kMaxBatchDims] = {};
};

/// One row of an array.
template <class Data>
struct RowSpan {
  Data* data;
  DType dtype;
  std::int64_t stride;
  std::int32_t size;
};

/// An array cut into rows; broadcast dimensions have stride 0.
template <class Data>
struct BasicRowArray {
  Data* data = nullptr;
  DType dtype = DType::float32;
  bool given = false;
  std::int32_t size = 0;  // along a row: n, n - 1 or 1
  std::int64_t stride = 0;
  std::int64_t batch_strides[kMaxBatchDims] = {};
  bool shared = false;  // of gradients of lams: whether several rows have the same element

  [[nodiscard]] constexpr RowSpan<Data> row(const Rows& rows, std::int64_t index) const noexcept {
    std::int64_t offset = 0;
    for (int d = rows.batch_dims - 1; d >= 0; --d) {
      offset += index % rows.batch_shape[d] * batch_strides[d];
      index /= rows.batch_shape[d];
    }
    using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
    return {static_cast<Byte*>(data) + offset * size_of(dtype), dtype, stride, size};
  }
};

using RowArray = BasicRowArray<void>;
using ConstRowArray = BasicRowArray<const void>;

/// lam of all rows: `array` if given, else `number`.
struct RowLam {
  double number = 0;
  ConstRowArray array;
};

struct Forward1d {
  Rows rows;
  ConstRowArray x;
  RowLam lam;
  ConstRowArray weight;
  Mode mode = Mode::smooth;
  RowArray y;
  std::uint32_t* partition = nullptr;  // null: not wanted
};

/// Without weights. `start` is `newton.start`, laid out by rows.
struct NewtonForward1d {
  Forward1d problem;
  Newton1d newton;
  ConstRowArray start;
  RowArray dual;
  double* gap = nullptr;  // null: not wanted; the others likewise
  std::int32_t* iterations = nullptr;
  std::uint8_t* converged = nullptr;
};

/// What backward and jvp need of the solution; x and y only with weights.
struct SolvedRows {
  Rows rows;
  const std::uint32_t* partition = nullptr;
  ConstRowArray x;
  ConstRowArray y;
  ConstRowArray weight;
  Mode mode = Mode::smooth;
};

struct Backward1d {
  SolvedRows solved;
  ConstRowArray grad_y;
  RowArray grad_x;
  RowArray grad_lam;
  /// On the CPU, where lams are shared: grad_lam is an array of one float64 per so many rows, the
  /// sum of their gradients.
  std::int32_t rows_per_term = 1;
  RowArray grad_weight;
};

struct Jvp1d {
  SolvedRows solved;
  ConstRowArray tangent_x;
  ConstRowArray tangent_lam;
  ConstRowArray tangent_weight;
  RowArray tangent_y;
};

struct Certificate1d {
  Rows rows;
  ConstRowArray x;
  RowLam lam;
  ConstRowArray weight;
  ConstRowArray y;
  RowArray out;
};

/// One number per row, computed from x and its weights.
struct RowReduction {
  Rows rows;
  ConstRowArray x;
  ConstRowArray weight;
  RowArray out;
};

struct Path1d {
  Rows rows;
  ConstRowArray x;
  ConstRowArray weight;
  RowArray lams;  // one per edge
};

/// One number per row: the lambda that a criterion selects, or the noise.
struct Select1d {
  Rows rows;
  ConstRowArray x;
  ConstRowArray weight;
  ConstRowArray sigma;   // of size 1
  bool selects = false;  // else estimates sigma
  Criterion criterion = Criterion::sure;
  std::int64_t segments = 1;
  RowArray out;
};

/// The shape of a batch of images. Image i is at the i-th index of the batch dimensions, last one
/// fastest.
struct Images {
  std::int64_t count = 0;
  std::int32_t height = 0;
  std::int32_t width = 0;
  int batch_dims = 0;
  std::int64_t batch_shape[kMaxBatchDims] = {};
};

/// Where the partition of each pass is stored: iteration after iteration; in each, first the rows
/// of all images, then their columns.
struct SavedPasses {
  explicit constexpr SavedPasses(const Images& images) noexcept
      : count(images.count),
        row_words(images.height * partition_words(images.width)),
        column_words(images.width * partition_words(images.height)) {}

  /// Words of all images in one iteration.
  [[nodiscard]] constexpr std::int64_t words() const noexcept {
    return count * (row_words + column_words);
  }
  [[nodiscard]] constexpr std::int64_t rows(std::int64_t image, int iteration) const noexcept {
    return iteration * words() + image * row_words;
  }
  [[nodiscard]] constexpr std::int64_t columns(std::int64_t image, int iteration) const noexcept {
    return iteration * words() + count * row_words + image * column_words;
  }

  std::int64_t count;
  std::int64_t row_words;  // per image
  std::int64_t column_words;
};

/// One image of an array.
template <class Data>
struct ImageSpan {
  Data* data;
  DType dtype;
  std::int64_t row_stride;     // from one row to the next
  std::int64_t column_stride;  // along a row
};

/// An array cut into images; broadcast dimensions have stride 0.
template <class Data>
struct BasicImageArray {
  Data* data = nullptr;
  DType dtype = DType::float32;
  bool given = false;
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_strides[kMaxBatchDims] = {};
  bool shared = false;  // of gradients of lams: whether several lines have the same element

  [[nodiscard]] constexpr ImageSpan<Data> image(const Images& images,
                                                std::int64_t index) const noexcept {
    std::int64_t offset = 0;
    for (int d = images.batch_dims - 1; d >= 0; --d) {
      offset += index % images.batch_shape[d] * batch_strides[d];
      index /= images.batch_shape[d];
    }
    using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
    return {static_cast<Byte*>(data) + offset * size_of(dtype), dtype, row_stride, column_stride};
  }
};

using ImageArray = BasicImageArray<void>;
using ConstImageArray = BasicImageArray<const void>;

/// lam along the rows or the columns of all images: `array` if given, else `number`. `of_lines` is
/// the same lam by lines; errors use it to locate an element in the caller's array.
struct ImageLam {
  const char* name = "lam";  // for errors
  double number = 0;
  ConstImageArray array;
  RowLam of_lines;
  Rows lines;
};

struct Forward2d {
  Images images;
  ConstImageArray x;
  ImageLam lam_rows;
  ImageLam lam_cols;
  Mode mode = Mode::smooth;
  Solver2d solver;
  ConstImageArray start;
  ImageArray y;
  std::uint32_t* partitions = nullptr;  // null: not wanted; the others likewise
  double* momentum = nullptr;
  ImageArray dual;
  double* gap = nullptr;
  double* objective = nullptr;
  std::uint8_t* converged = nullptr;
  std::int32_t* iterations = nullptr;

  [[nodiscard]] bool wants_quality() const noexcept {
    return gap != nullptr || objective != nullptr || converged != nullptr;
  }
};

struct Gap2d {
  Images images;
  ConstImageArray x;
  ImageLam lam_rows;
  ImageLam lam_cols;
  ConstImageArray y;
  ConstImageArray dual;
  double* gap = nullptr;
};

/// What backward and jvp need of the solution.
struct SolvedImages {
  Images images;
  Derivative2d derivative = Derivative2d::unrolled;
  int iterations = 0;
  const std::uint32_t* partitions = nullptr;
  const double* momentum = nullptr;
  const std::int32_t* done = nullptr;  // null: all iterations
  Mode mode = Mode::smooth;
};

struct Backward2d {
  SolvedImages solved;
  ConstImageArray grad_y;
  ImageArray grad_x;
  ImageArray grad_lam_rows;
  ImageArray grad_lam_cols;
};

/// The tolerance that decides which images have converged.
[[nodiscard]] inline double held_to(const Solver2d& solver, DType dtype) noexcept {
  return solver.tol > 0 ? solver.tol : default_tolerance(dtype);
}

/// Whether a call only iterates, a fixed number of times and starting from 0: without a tolerance,
/// start, dual or report, and without implicit derivatives.
[[nodiscard]] inline bool is_plain(const Forward2d& call) noexcept {
  return call.solver.tol == 0 && call.solver.derivative == Derivative2d::unrolled &&
         !call.start.given && !call.dual.given && !call.wants_quality();
}
[[nodiscard]] inline bool is_plain(const Backward2d& call) noexcept {
  return call.solved.derivative == Derivative2d::unrolled;
}

/// Whether lams (or their gradients) differ within lines.
template <class Array>
[[nodiscard]] bool is_by_edge(const Array& lam_rows, const Array& lam_cols) noexcept {
  return (lam_rows.given && lam_rows.width != 1) || (lam_cols.given && lam_cols.height != 1);
}

/// What a workspace must suffice for: all calls on such images, or only plain ones.
struct Workspace2d {
  Images images;
  DType dtype = DType::float32;
  bool by_edge = false;
  bool plain = false;
};

struct Jvp2d {
  SolvedImages solved;
  ConstImageArray tangent_x;
  ConstImageArray tangent_lam_rows;
  ConstImageArray tangent_lam_cols;
  ImageArray tangent_y;
};

struct Backend {
  /// Names of the supported targets (for a CPU, its instruction sets), fastest first, and the name
  /// of the one in use: null if a target that is not in the list is requested.
  std::span<const char* const> (*targets)() noexcept;
  const char* (*target)() noexcept;
  /// Text for an error number of the device (static); null if the device has no error numbers.
  const char* (*error_text)(int error) noexcept;

  std::size_t (*workspace1d)(const Rows&, bool weighted, const Context&) noexcept;
  Status (*forward1d)(const Forward1d&, const Context&) noexcept;
  Status (*backward1d)(const Backward1d&, const Context&) noexcept;
  Status (*jvp1d)(const Jvp1d&, const Context&) noexcept;
  Status (*certificate1d)(const Certificate1d&, const Context&) noexcept;
  Status (*lam_max)(const RowReduction&, const Context&) noexcept;
  Status (*tv)(const RowReduction&, const Context&) noexcept;
  std::size_t (*newton_workspace1d)(const Rows&, const Context&) noexcept;
  Status (*newton1d)(const NewtonForward1d&, const Context&) noexcept;
  std::size_t (*workspace2d)(const Workspace2d&, const Context&) noexcept;
  Status (*forward2d)(const Forward2d&, const Context&) noexcept;
  Status (*backward2d)(const Backward2d&, const Context&) noexcept;
  Status (*jvp2d)(const Jvp2d&, const Context&) noexcept;
  Status (*gap2d)(const Gap2d&, const Context&) noexcept;
  // Null if the device does not have them.
  std::size_t (*path_workspace1d)(const Rows&, bool weighted, const Context&) noexcept = nullptr;
  Status (*path1d)(const Path1d&, const Context&) noexcept = nullptr;
  std::size_t (*select_workspace1d)(const Rows&, bool weighted, const Context&) noexcept = nullptr;
  Status (*select1d)(const Select1d&, const Context&) noexcept = nullptr;
};

extern const Backend kCpuBackend;
extern const Backend kCudaBackend;  // only in builds with CUDA

}  // namespace tautstring::detail
