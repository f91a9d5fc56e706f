// The public 2D calls: check, find the backend, forward.
#include "tautstring/tv2d.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <span>
#include <utility>

#include "api/arguments.h"
#include "portability.h"

namespace tautstring {
namespace {

using detail::Arguments;
using detail::Backend;
using detail::footprint;
using Along = Arguments::Along;

/// A dimension counted from the front; -1 if there is no such dimension.
int from_front(int dim, int ndim) {
  const int front = dim < 0 ? dim + ndim : dim;
  return front >= 0 && front < ndim ? front : -1;
}

/// The arguments of a 2D call, seen by rows and by columns.
class ImageArguments {
 public:
  /// Starts with the array that determines the shape of the batch, x's; `arrays` as in Arguments.
  ImageArguments(const char* name, const ConstView& x, int height_dim, int width_dim,
                 std::initializer_list<detail::Steps> arrays = {}) noexcept
      : height_dim_(from_front(height_dim, x.ndim)),
        width_dim_(from_front(width_dim, x.ndim)),
        rows_(name, x, width_dim_ < 0 ? 0 : width_dim_, arrays, height_dim_),
        columns_(name, x, height_dim_ < 0 ? 0 : height_dim_, arrays, width_dim_) {
    rows_.require(x.ndim >= 2, name, "must have at least 2 dimensions", x.ndim);
    rows_.require(height_dim_ >= 0, "height_dim", "must name a dimension of x", height_dim);
    rows_.require(width_dim_ >= 0, "width_dim", "must name a dimension of x", width_dim);
    rows_.require(height_dim_ != width_dim_, "width_dim", "must not be height_dim", width_dim);
    rows_.fail(columns_.status());
    if (!rows_.ok()) return;
    images_.height = columns_.rows().n;
    images_.width = rows_.rows().n;
    images_.count = 1;
    for (int place = 0; place < rows_.rows().batch_dims; ++place) {
      if (place == rows_.place_of(height_dim_)) continue;
      images_.batch_shape[images_.batch_dims++] = rows_.rows().batch_shape[place];
      images_.count *= rows_.rows().batch_shape[place];  // no more than rows, which fit
    }
    const double pixels = static_cast<double>(images_.count) * images_.height * images_.width;
    rows_.require(pixels <= kMostPixels, name, "must have at most 2^48 elements", pixels);
  }

  [[nodiscard]] const detail::Images& images() const noexcept { return images_; }
  /// For checks that do not depend on images.
  [[nodiscard]] Arguments& checks() noexcept { return rows_; }

  detail::ConstImageArray shaped(const char* name, const ConstView& view) noexcept {
    return by_rows(rows_.shaped(name, view, Along::elements));
  }
  detail::ImageArray output(const char* name, const View& view) noexcept {
    return by_rows(rows_.output(name, view, Along::elements));
  }
  detail::ImageArray optional_output(const char* name, const View& view) noexcept {
    return view.given() ? output(name, view) : detail::ImageArray{};
  }
  detail::ImageArray lam_rows_gradient(const View& view, Device device) noexcept {
    return by_rows(rows_.lam_gradient("gradients.lam_rows", view, device));
  }
  detail::ImageArray lam_cols_gradient(const View& view, Device device) noexcept {
    return by_columns(columns_.lam_gradient("gradients.lam_cols", view, device));
  }
  /// The number of elements saved by `iterations` iterations, `of_each` per iteration; -1 if it
  /// overflows.
  [[nodiscard]] static std::int64_t saved(std::int64_t of_each, int iterations) noexcept {
    std::int64_t count = 0;
    return detail::multiply(of_each, iterations, count) ? count : -1;
  }
  /// A list of the caller, which must have `count` elements.
  template <class Item>
  Item* required(const char* name, std::span<Item> items, std::int64_t count,
                 const char* expected) noexcept {
    rows_.require(static_cast<std::int64_t>(items.size()) == count, name, expected,
                  static_cast<double>(items.size()));
    return items.data();
  }
  template <class Item>
  Item* optional(const char* name, std::span<Item> items, std::int64_t count,
                 const char* expected) noexcept {
    return items.empty() ? nullptr : required(name, items, count, expected);
  }
  detail::ConstImageArray lam_rows(const char* name, const ConstView& view) noexcept {
    return by_rows(rows_.optional_broadcast(name, view, Along::row_or_edges));
  }
  detail::ConstImageArray lam_cols(const char* name, const ConstView& view) noexcept {
    return by_columns(columns_.optional_broadcast(name, view, Along::row_or_edges));
  }
  /// Sets the lams along rows and along columns. If one array is both, errors call it `lam`.
  void lams(const Problem2d& problem, detail::ImageLam& along_rows,
            detail::ImageLam& along_columns) noexcept {
    const bool is_shared = are_same(problem.lam_rows, problem.lam_cols);
    const char* rows_name = is_shared ? "lam" : "lam_rows";
    const char* columns_name = is_shared ? "lam" : "lam_cols";
    const auto lay_out_lam = [](Arguments& lines, const char* name, const Lam& lam) {
      return lines.optional_broadcast(name, lam.array, Along::row_or_edges);
    };
    const detail::ConstRowArray rows = lay_out_lam(rows_, rows_name, problem.lam_rows);
    const detail::ConstRowArray columns = lay_out_lam(columns_, columns_name, problem.lam_cols);
    const double rows_number = problem.lam_rows.number;
    const double columns_number = problem.lam_cols.number;
    along_rows = {rows_name, rows_number, by_rows(rows), {rows_number, rows}, rows_.rows()};
    along_columns = {columns_name,
                     columns_number,
                     by_columns(columns),
                     {columns_number, columns},
                     columns_.rows()};
  }

 private:
  static bool are_same(const Lam& a, const Lam& b) noexcept {
    if (a.array.given() || b.array.given()) {
      return detail::same_elements(a.array, b.array);
    }
    return a.number == b.number || (std::isnan(a.number) && std::isnan(b.number));
  }

  static constexpr double kMostPixels = 0x1p48;  // exceeds any memory, and sizes cannot overflow

  template <class Data>
  [[nodiscard]] detail::BasicImageArray<Data> by_rows(
      const detail::BasicRowArray<Data>& array) const noexcept {
    return lay_out(array, rows_.place_of(height_dim_), images_.height);
  }
  template <class Data>
  detail::BasicImageArray<Data> by_columns(const detail::BasicRowArray<Data>& array) noexcept {
    rows_.fail(columns_.status());
    detail::BasicImageArray<Data> images =
        lay_out(array, columns_.place_of(width_dim_), images_.width);
    std::swap(images.height, images.width);
    std::swap(images.row_stride, images.column_stride);
    return images;
  }
  /// An array of lines as an array of images with line_count lines each; that dimension is at
  /// `place` of the lines' batch. It has size 1 there only if it is broadcast, with stride 0.
  template <class Data>
  [[nodiscard]] detail::BasicImageArray<Data> lay_out(const detail::BasicRowArray<Data>& lines,
                                                      int place,
                                                      std::int32_t line_count) const noexcept {
    detail::BasicImageArray<Data> array;
    if (!lines.given || !rows_.ok()) return array;
    array.data = lines.data;
    array.dtype = lines.dtype;
    array.given = true;
    array.shared = lines.shared;
    array.width = lines.size;
    array.height = line_count;
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

detail::SolvedImages lay_out(ImageArguments& arguments, const Solved2d& solved) {
  const detail::Images& images = arguments.images();
  detail::SolvedImages result;
  result.images = images;
  result.derivative = solved.derivative;
  result.iterations = solved.iterations;
  result.mode = solved.mode;
  const bool implicit = solved.derivative == Derivative2d::implicit;
  arguments.checks().require(implicit || solved.iterations >= 1, "solved.iterations",
                             "must be at least 1", solved.iterations);
  const std::int64_t words = detail::SavedPasses(images).words();
  result.partitions = arguments.required("solved.partitions", solved.partitions,
                                         arguments.saved(words, implicit ? 1 : solved.iterations),
                                         "must have saved_words2d elements");
  if (implicit) return result;
  result.momentum = arguments.optional("solved.momentum", solved.momentum,
                                       arguments.saved(images.count, solved.iterations),
                                       "must have one element per image and iteration");
  result.done = arguments.optional("solved.done", solved.done, images.count,
                                   "must have one element per image");
  return result;
}

}  // namespace

std::int64_t image_count(const ConstView& x, int height_dim, int width_dim) noexcept {
  ImageArguments arguments("x", x, height_dim, width_dim);
  return arguments.checks().ok() ? arguments.images().count : 0;
}

std::int64_t saved_words2d(const ConstView& x, int iterations, int height_dim,
                           int width_dim) noexcept {
  ImageArguments arguments("x", x, height_dim, width_dim);
  if (!arguments.checks().ok() || iterations < 1) return 0;
  const std::int64_t words = detail::SavedPasses(arguments.images()).words();
  return std::max<std::int64_t>(arguments.saved(words, iterations), 0);
}

namespace {

Status find_workspace(const Problem2d& problem, bool plain, const Context& context,
                      std::size_t& bytes) noexcept {
  ImageArguments arguments("x", problem.x, problem.height_dim, problem.width_dim,
                           {problem.lam_rows.array, problem.lam_cols.array});
  detail::ImageLam lam_rows;
  detail::ImageLam lam_cols;
  arguments.lams(problem, lam_rows, lam_cols);
  if (!arguments.checks().ok()) return arguments.checks().status();
  const Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr) return detail::unsupported_device();
  const bool by_edge = detail::is_by_edge(lam_rows.array, lam_cols.array);
  bytes = backend->workspace2d({arguments.images(), problem.x.dtype, by_edge, plain}, context);
  return {};
}

}  // namespace

Status prox_tv2d_workspace(const Problem2d& problem, const Context& context,
                           std::size_t& bytes) noexcept {
  return find_workspace(problem, false, context, bytes);
}

Status prox_tv2d_workspace(const Problem2d& problem, const Solver2d& solver, const Context& context,
                           std::size_t& bytes) noexcept {
  detail::Forward2d call;
  call.solver = solver;
  call.start.given = solver.start.given();
  return find_workspace(problem, detail::is_plain(call), context, bytes);
}

Status prox_tv2d(const Problem2d& problem, const Solver2d& solver, const Results2d& results,
                 const Context& context) noexcept {
  ImageArguments arguments(
      "x", problem.x, problem.height_dim, problem.width_dim,
      {problem.lam_rows.array, problem.lam_cols.array, solver.start, results.y, results.dual});
  Arguments& checks = arguments.checks();
  detail::Forward2d call;
  call.images = arguments.images();
  call.x = arguments.shaped("x", problem.x);
  arguments.lams(problem, call.lam_rows, call.lam_cols);
  call.y = arguments.output("y", results.y);
  call.mode = problem.mode;
  call.solver = solver;
  if (solver.start.given()) call.start = arguments.shaped("start", solver.start);
  call.dual = arguments.optional_output("dual", results.dual);
  checks.require(results.y.dtype == problem.x.dtype, "y", "must have x's dtype",
                 static_cast<double>(results.y.dtype));
  checks.require(solver.iterations >= 1, "iterations", "must be at least 1", solver.iterations);
  checks.require(solver.tol >= 0 && std::isfinite(solver.tol), "tol", "must be >= 0 and finite",
                 solver.tol);
  const std::int64_t count = call.images.count;
  const int saved = solver.derivative == Derivative2d::implicit ? 1 : solver.iterations;
  call.partitions =
      arguments.optional("partitions", results.partitions,
                         arguments.saved(detail::SavedPasses(call.images).words(), saved),
                         "must have saved_words2d elements");
  call.momentum =
      arguments.optional("momentum", results.momentum, arguments.saved(count, solver.iterations),
                         "must have one element per image and iteration");
  constexpr const char* kOnePerImage = "must have one element per image";
  call.gap = arguments.optional("gap", results.gap, count, kOnePerImage);
  call.objective = arguments.optional("objective", results.objective, count, kOnePerImage);
  call.converged = arguments.optional("converged", results.converged, count, kOnePerImage);
  call.iterations = arguments.optional("iterations", results.iterations, count, kOnePerImage);
  const detail::OutputList lists[] = {{"partitions", footprint(results.partitions)},
                                      {"momentum", footprint(results.momentum)},
                                      {"gap", footprint(results.gap)},
                                      {"objective", footprint(results.objective)},
                                      {"converged", footprint(results.converged)},
                                      {"iterations", footprint(results.iterations)}};
  const auto& [partitions, momentum, gap, objective, converged, iterations] = lists;
  const ConstView& x = problem.x;
  const ConstView& lam_rows = problem.lam_rows.array;
  const ConstView& lam_cols = problem.lam_cols.array;
  const ConstView& start = solver.start;
  checks.require_apart("y", results.y, x,
                       {lam_rows, lam_cols, start, results.dual, partitions.own, momentum.own,
                        gap.own, objective.own, converged.own, iterations.own});
  checks.require_apart("dual", results.dual, start,
                       {x, lam_rows, lam_cols, partitions.own, momentum.own, gap.own, objective.own,
                        converged.own, iterations.own});
  checks.require_apart(lists, {x, lam_rows, lam_cols, start});
  return dispatch(checks, &Backend::forward2d, call, context);
}

Status gap2d(const Problem2d& problem, const Candidate2d& candidate, std::span<double> gap,
             const Context& context) noexcept {
  ImageArguments arguments(
      "x", problem.x, problem.height_dim, problem.width_dim,
      {problem.lam_rows.array, problem.lam_cols.array, candidate.y, candidate.dual});
  detail::Gap2d call;
  call.images = arguments.images();
  call.x = arguments.shaped("x", problem.x);
  arguments.lams(problem, call.lam_rows, call.lam_cols);
  call.y = arguments.shaped("y", candidate.y);
  if (candidate.dual.given()) call.dual = arguments.shaped("dual", candidate.dual);
  call.gap = arguments.required("gap", gap, call.images.count, "must have one element per image");
  arguments.checks().require(problem.mode == Mode::smooth, "mode", "must be Mode::smooth",
                             static_cast<double>(problem.mode));
  const detail::OutputList lists[] = {{"gap", footprint(gap)}};
  arguments.checks().require_apart(lists, {problem.x, problem.lam_rows.array,
                                           problem.lam_cols.array, candidate.y, candidate.dual});
  return dispatch(arguments.checks(), &Backend::gap2d, call, context);
}

Status prox_tv2d_backward(const Solved2d& solved, const ConstView& grad_y,
                          const Gradients2d& gradients, const Context& context) noexcept {
  ImageArguments arguments("grad_y", grad_y, solved.height_dim, solved.width_dim,
                           {gradients.x, gradients.lam_rows, gradients.lam_cols});
  Arguments& checks = arguments.checks();
  detail::Backward2d call;
  call.solved = lay_out(arguments, solved);
  call.grad_y = arguments.shaped("grad_y", grad_y);
  call.grad_x = arguments.optional_output("gradients.x", gradients.x);
  call.grad_lam_rows = arguments.lam_rows_gradient(gradients.lam_rows, context.device);
  call.grad_lam_cols = arguments.lam_cols_gradient(gradients.lam_cols, context.device);
  const detail::Footprint partitions = footprint(solved.partitions);
  const detail::Footprint momentum = footprint(solved.momentum);
  const detail::Footprint done = footprint(solved.done);
  checks.require_apart("gradients.x", gradients.x, grad_y,
                       {gradients.lam_rows, gradients.lam_cols, partitions, momentum, done});
  checks.require_apart("gradients.lam_rows", gradients.lam_rows, {},
                       {grad_y, gradients.lam_cols, partitions, momentum, done});
  checks.require_apart("gradients.lam_cols", gradients.lam_cols, {},
                       {grad_y, partitions, momentum, done});
  return dispatch(checks, &Backend::backward2d, call, context);
}

Status prox_tv2d_jvp(const Solved2d& solved, const Tangents2d& tangents, const View& tangent_y,
                     const Context& context) noexcept {
  ImageArguments arguments("tangent_y", tangent_y, solved.height_dim, solved.width_dim,
                           {tangents.x, tangents.lam_rows, tangents.lam_cols});
  Arguments& checks = arguments.checks();
  detail::Jvp2d call;
  call.solved = lay_out(arguments, solved);
  if (tangents.x.given()) call.tangent_x = arguments.shaped("tangents.x", tangents.x);
  call.tangent_lam_rows = arguments.lam_rows("tangents.lam_rows", tangents.lam_rows);
  call.tangent_lam_cols = arguments.lam_cols("tangents.lam_cols", tangents.lam_cols);
  call.tangent_y = arguments.output("tangent_y", tangent_y);
  checks.require_apart("tangent_y", tangent_y, tangents.x,
                       {tangents.lam_rows, tangents.lam_cols, footprint(solved.partitions),
                        footprint(solved.momentum), footprint(solved.done)});
  return dispatch(checks, &Backend::jvp2d, call, context);
}

}  // namespace tautstring
