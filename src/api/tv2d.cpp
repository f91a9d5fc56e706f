// The public 2D calls: check, find the backend, forward.
#include "tautline/tv2d.h"

#include <cmath>

#include "api/arguments.h"

namespace tautline {
namespace {

using detail::Arguments;
using detail::Backend;
using Along = Arguments::Along;

/// A dimension counted from the front, -1 where it names none.
int from_front(int dim, int ndim) {
  const int front = dim < 0 ? dim + ndim : dim;
  return front >= 0 && front < ndim ? front : -1;
}

/// The arguments of a 2D call, seen by rows and by columns.
class ImageArguments {
 public:
  ImageArguments(const ConstView& x, int height_dim, int width_dim) noexcept
      : height_dim_(from_front(height_dim, x.ndim)),
        width_dim_(from_front(width_dim, x.ndim)),
        rows_("x", x, width_dim_ < 0 ? 0 : width_dim_),
        columns_("x", x, height_dim_ < 0 ? 0 : height_dim_) {
    rows_.require(x.ndim >= 2, "x", "must have at least 2 dimensions", x.ndim);
    rows_.require(height_dim_ >= 0, "height_dim", "must name a dimension of x", height_dim);
    rows_.require(width_dim_ >= 0, "width_dim", "must name a dimension of x", width_dim);
    rows_.require(height_dim_ != width_dim_, "width_dim", "must not be height_dim", width_dim);
    const Status& status = columns_.status();
    if (!status.ok()) rows_.fail(status.argument, status.expected, status.given, status.index);
    if (!rows_.ok()) return;
    images_.height = columns_.rows().n;
    images_.width = rows_.rows().n;
    images_.count = 1;
    for (int d = 0; d < x.ndim; ++d) {
      if (d == height_dim_ || d == width_dim_) continue;
      images_.batch_shape[images_.batch_dims++] = x.shape[d];
      images_.count *= x.shape[d];  // no more than rows, which fit
    }
  }

  [[nodiscard]] const detail::Images& images() const noexcept { return images_; }
  /// For checks that know nothing of images.
  [[nodiscard]] Arguments& checks() noexcept { return rows_; }

  detail::ConstImageArray shaped(const char* name, const ConstView& view) noexcept {
    return by_rows(rows_.shaped(name, view, Along::elements));
  }
  detail::ImageArray output(const char* name, const View& view) noexcept {
    return by_rows(rows_.output(name, view, Along::elements));
  }
  detail::ImageLam row_lam(const Lam& lam) noexcept {
    return {lam.number,
            by_rows(rows_.optional_broadcast("row_lam", lam.array, Along::row_or_edges))};
  }
  detail::ImageLam column_lam(const Lam& lam) noexcept {
    const detail::ConstRowArray array =
        columns_.optional_broadcast("column_lam", lam.array, Along::row_or_edges);
    const Status& status = columns_.status();
    if (!status.ok()) rows_.fail(status.argument, status.expected, status.given, status.index);
    detail::ConstImageArray transposed = lay_out(array, place_of(width_dim_, height_dim_));
    std::swap(transposed.height, transposed.width);
    std::swap(transposed.row_stride, transposed.column_stride);
    return {lam.number, transposed};
  }

 private:
  /// Where `dim` is among the batch dimensions of lines along `along`.
  static int place_of(int dim, int along) noexcept { return dim < along ? dim : dim - 1; }

  template <class Data>
  detail::BasicImageArray<Data> by_rows(const detail::BasicRowArray<Data>& array) const noexcept {
    return lay_out(array, place_of(height_dim_, width_dim_));
  }
  /// An array of lines as one of images, whose other direction is at `place` of the lines' batch.
  template <class Data>
  detail::BasicImageArray<Data> lay_out(const detail::BasicRowArray<Data>& lines,
                                        int place) const noexcept {
    detail::BasicImageArray<Data> array;
    if (!lines.given || !rows_.ok()) return array;
    array.data = lines.data;
    array.dtype = lines.dtype;
    array.given = true;
    array.width = lines.size;
    array.column_stride = lines.stride;
    array.row_stride = lines.batch_strides[place];
    int own = 0;
    for (int d = 0; d < images_.batch_dims + 1; ++d) {
      if (d != place) array.batch_strides[own++] = lines.batch_strides[d];
    }
    return array;
  }

  const int height_dim_;
  const int width_dim_;
  Arguments rows_;
  Arguments columns_;
  detail::Images images_;
};

template <class Item>
detail::Footprint footprint(std::span<Item> items) {
  return {items.data(), static_cast<std::int64_t>(items.size_bytes())};
}

}  // namespace

std::int64_t image_count(const ConstView& x, int height_dim, int width_dim) noexcept {
  ImageArguments arguments(x, height_dim, width_dim);
  return arguments.checks().ok() ? arguments.images().count : 0;
}

Status prox_tv2d(const Problem2d& problem, const Solver2d& solver, const View& y,
                 const Report2d& report, const Context& context) noexcept {
  ImageArguments arguments(problem.x, problem.height_dim, problem.width_dim);
  Arguments& checks = arguments.checks();
  detail::Forward2d call;
  call.images = arguments.images();
  call.x = arguments.shaped("x", problem.x);
  call.row_lam = arguments.row_lam(problem.row_lam);
  call.column_lam = arguments.column_lam(problem.column_lam);
  call.y = arguments.output("y", y);
  call.mode = problem.mode;
  call.solver = solver;
  checks.require(y.dtype == problem.x.dtype, "y", "must have x's dtype",
                 static_cast<double>(y.dtype));
  checks.require(solver.iterations >= 1, "iterations", "must be at least 1", solver.iterations);
  checks.require(solver.tol >= 0 && std::isfinite(solver.tol), "tol", "must be >= 0 and finite",
                 solver.tol);
  const auto count = static_cast<std::size_t>(call.images.count);
  if (!report.gap.empty()) {
    checks.require(report.gap.size() == count, "gap", "must have one element an image",
                   static_cast<double>(report.gap.size()));
    call.gap = report.gap.data();
  }
  if (!report.iterations.empty()) {
    checks.require(report.iterations.size() == count, "report.iterations",
                   "must have one element an image", static_cast<double>(report.iterations.size()));
    call.iterations = report.iterations.data();
  }
  checks.require_apart("y", y, problem.x,
                       {problem.row_lam.array, problem.column_lam.array, footprint(report.gap),
                        footprint(report.iterations)});
  return dispatch(checks, &Backend::forward2d, call, context);
}

}  // namespace tautline
