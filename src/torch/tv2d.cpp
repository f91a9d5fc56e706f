#include "tv2d.h"

#include <torch/csrc/stable/ops.h>

#include <span>
#include <utility>

#include "call_context.h"
#include "lams.h"
#include "tautstring/tautstring.h"
#include "tensors.h"

namespace tautstring::torch_ops {
namespace {

Derivative2d derivative_of(bool implicit) {
  return implicit ? Derivative2d::implicit : Derivative2d::unrolled;
}

template <class T>
std::span<const T> span_of(const char* name, const Tensor& tensor, ScalarType dtype) {
  if (tensor.scalar_type() != dtype || !tensor.is_contiguous()) {
    raise_invalid(std::string(name) + ": must be as the forward op made it");
  }
  return {static_cast<const T*>(tensor.const_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

/// What takes the place of a lam in a workspace query: a number if there is no view.
Lam lam_like(const ConstView& view) {
  return view.given() ? Lam(view) : Lam(0.0);
}

Tensor make_per_image(const Tensor& x, const ImageDims& dims, std::int64_t size, ScalarType dtype) {
  std::vector<std::int64_t> shape = batch_of_images(x, dims);
  shape.push_back(size);
  return make_tensor(shape, dtype, x);
}

Tensor make_partitions(const Tensor& x, const ImageDims& dims, int iterations, bool is_kept) {
  constexpr std::int64_t kWordBytes = sizeof(std::uint32_t);
  const std::int64_t height = x.size(dims.height);
  const std::int64_t width = x.size(dims.width);
  const std::int64_t words = height * partition_words(width) + width * partition_words(height);
  return make_per_image(x, dims, is_kept ? kWordBytes * iterations * words : 0, ScalarType::Byte);
}

Solution2d solve(const Tensor& x, const Lam& lam_rows, const Lam& lam_cols,
                 const std::optional<Tensor>& start, const ImageDims& dims, bool sharpen,
                 const Solver2d& solver, bool keep_partitions, bool report) {
  require_device_of("x", x, "start", start);
  const Problem2d problem = {.x = view_of("x", x),
                             .lam_rows = lam_rows,
                             .lam_cols = lam_cols,
                             .height_dim = dims.height,
                             .width_dim = dims.width,
                             .mode = mode_of(sharpen)};
  const CallContext context = report ? CallContext(x, problem) : CallContext(x, problem, solver);
  const bool implicit = solver.derivative == Derivative2d::implicit;
  const bool keep_momentum = keep_partitions && !implicit;
  Tensor y = make_like(x, x.scalar_type());
  Tensor partitions = make_partitions(x, dims, implicit ? 1 : solver.iterations, keep_partitions);
  Tensor momentum =
      make_per_image(x, dims, keep_momentum ? solver.iterations : 0, ScalarType::Double);
  if (keep_momentum && solver.tol > 0) {  // an image that stops early does not write the rest
    torch::stable::zero_(partitions);
    torch::stable::zero_(momentum);
  }
  Tensor done = make_tensor(batch_of_images(x, dims), ScalarType::Int, x);
  const auto make_report = [&](ScalarType dtype) {
    return report ? make_tensor(batch_of_images(x, dims), dtype, x) : make_nothing(x);
  };
  Tensor gap = make_report(ScalarType::Double);
  Tensor objective = make_report(ScalarType::Double);
  Tensor converged = make_report(ScalarType::Bool);
  Tensor dual = report ? make_like(x, arithmetic_dtype(x.scalar_type())) : make_nothing(x);
  Results2d results = {.y = output_view_of("y", y),
                       .partitions = output_words_of(partitions),
                       .momentum = output_span_of<double>(momentum),
                       .iterations = output_span_of<std::int32_t>(done)};
  if (report) {
    results.dual = output_view_of("dual", dual);
    results.gap = output_span_of<double>(gap);
    results.objective = output_span_of<double>(objective);
    results.converged = output_span_of<std::uint8_t>(converged);
  }
  raise_unless_ok(prox_tv2d(problem, solver, results, context.get()));
  return {std::move(y),   std::move(partitions), std::move(momentum),  std::move(done),
          std::move(gap), std::move(objective),  std::move(converged), std::move(dual)};
}

Solver2d solver_of(const std::optional<Tensor>& start, bool accelerated, std::int64_t iterations,
                   double tol, bool implicit) {
  return {.method = accelerated ? Method2d::accelerated : Method2d::dykstra,
          .iterations = clamped(iterations),
          .tol = tol,
          .derivative = derivative_of(implicit),
          .start = view_of("start", start)};
}

Solved2d solved_of(const Tensor& partitions, const Tensor& momentum, const Tensor& done,
                   const ImageDims& dims, bool sharpen, std::int64_t iterations, bool implicit) {
  return {.partitions = words_of(partitions),
          .momentum = span_of<double>("momentum", momentum, ScalarType::Double),
          .done = span_of<std::int32_t>("done", done, ScalarType::Int),
          .iterations = clamped(iterations),
          .derivative = derivative_of(implicit),
          .height_dim = dims.height,
          .width_dim = dims.width,
          .mode = mode_of(sharpen)};
}

Tensor find_gap(const Tensor& x, const Tensor& y, const Lam& lam_rows, const Lam& lam_cols,
                const std::optional<Tensor>& dual, const ImageDims& dims) {
  require_device_of("x", x, "y", y);
  require_device_of("x", x, "dual", dual);
  const Problem2d problem = {.x = view_of("x", x),
                             .lam_rows = lam_rows,
                             .lam_cols = lam_cols,
                             .height_dim = dims.height,
                             .width_dim = dims.width};
  const CallContext context(x, problem);
  Tensor gap = make_tensor(batch_of_images(x, dims), ScalarType::Double, x);
  raise_unless_ok(gap2d(problem, {.y = view_of("y", y), .dual = view_of("dual", dual)},
                        output_span_of<double>(gap), context.get()));
  return gap;
}

/// One tensor for both directions is what users call `lam`.
std::pair<Lam, Lam> lams_of(const Tensor& x, const Tensor& lam_rows, const Tensor& lam_cols) {
  const bool is_one = lam_rows.const_data_ptr() == lam_cols.const_data_ptr() &&
                      lam_rows.numel() == lam_cols.numel();
  return {lam_of(is_one ? "lam" : "lam_rows", x, lam_rows),
          lam_of(is_one ? "lam" : "lam_cols", x, lam_cols)};
}

}  // namespace

Solution2d solve2d(const Tensor& x, const Tensor& lam_rows, const Tensor& lam_cols,
                   const std::optional<Tensor>& start, std::int64_t height_dim,
                   std::int64_t width_dim, bool sharpen, bool accelerated, std::int64_t iterations,
                   double tol, bool implicit, bool keep_partitions, bool report) {
  const auto [rows, columns] = lams_of(x, lam_rows, lam_cols);
  return solve(x, rows, columns, start, require_image_dims("x", x.dim(), height_dim, width_dim),
               sharpen, solver_of(start, accelerated, iterations, tol, implicit), keep_partitions,
               report);
}

Solution2d solve2d_number(const Tensor& x, double lam_rows, double lam_cols,
                          const std::optional<Tensor>& start, std::int64_t height_dim,
                          std::int64_t width_dim, bool sharpen, bool accelerated,
                          std::int64_t iterations, double tol, bool implicit, bool keep_partitions,
                          bool report) {
  return solve(x, lam_rows, lam_cols, start,
               require_image_dims("x", x.dim(), height_dim, width_dim), sharpen,
               solver_of(start, accelerated, iterations, tol, implicit), keep_partitions, report);
}

std::tuple<Tensor, Tensor, Tensor> backward2d(
    const Tensor& grad_y, const Tensor& partitions, const Tensor& momentum, const Tensor& done,
    std::int64_t height_dim, std::int64_t width_dim, bool sharpen, std::int64_t iterations,
    bool implicit, ScalarType x_dtype, std::int64_t lam_rows_size,
    const std::vector<std::int64_t>& lam_rows_shared_dims, ScalarType lam_rows_dtype,
    std::int64_t lam_cols_size, const std::vector<std::int64_t>& lam_cols_shared_dims,
    ScalarType lam_cols_dtype, bool wants_x, bool wants_lam_rows, bool wants_lam_cols) {
  const ImageDims dims = require_image_dims("grad_y", grad_y.dim(), height_dim, width_dim);
  require_device_of("grad_y", grad_y, "partitions", partitions);
  require_device_of("grad_y", grad_y, "momentum", momentum);
  require_device_of("grad_y", grad_y, "done", done);
  Tensor grad_x = wants_x ? make_like(grad_y, x_dtype) : make_nothing(grad_y);
  const LamGradient grad_lam_rows(wants_lam_rows,
                                  {dims.width, lam_rows_size, lam_rows_shared_dims, lam_rows_dtype},
                                  grad_y, x_dtype);
  const LamGradient grad_lam_cols(
      wants_lam_cols, {dims.height, lam_cols_size, lam_cols_shared_dims, lam_cols_dtype}, grad_y,
      x_dtype);
  const Gradients2d gradients = {.x = wants_x ? output_view_of("grad_x", grad_x) : View{},
                                 .lam_rows = grad_lam_rows.view("grad_lam_rows"),
                                 .lam_cols = grad_lam_cols.view("grad_lam_cols")};
  const Solved2d solved =
      solved_of(partitions, momentum, done, dims, sharpen, iterations, implicit);
  const CallContext context(grad_y,
                            {.x = view_of("grad_y", grad_y),
                             .lam_rows = lam_like(gradients.lam_rows),
                             .lam_cols = lam_like(gradients.lam_cols),
                             .height_dim = dims.height,
                             .width_dim = dims.width},
                            {.derivative = derivative_of(implicit)});
  raise_unless_ok(prox_tv2d_backward(solved, view_of("grad_y", grad_y), gradients, context.get()));
  return {std::move(grad_x), grad_lam_rows.take(), grad_lam_cols.take()};
}

Tensor jvp2d(const Tensor& partitions, const Tensor& momentum, const Tensor& done,
             const std::optional<Tensor>& tangent_x, const std::optional<Tensor>& tangent_lam_rows,
             const std::optional<Tensor>& tangent_lam_cols, std::int64_t height_dim,
             std::int64_t width_dim, bool sharpen, std::int64_t iterations, bool implicit,
             std::int64_t height, std::int64_t width, ScalarType dtype) {
  // One dimension less than x: a dimension of bytes replaces the two of the pixels.
  const ImageDims dims =
      require_image_dims("partitions", partitions.dim() + 1, height_dim, width_dim);
  require_device_of("partitions", partitions, "momentum", momentum);
  require_device_of("partitions", partitions, "done", done);
  require_device_of("partitions", partitions, "tangent_x", tangent_x);
  require_device_of("partitions", partitions, "tangent_lam_rows", tangent_lam_rows);
  require_device_of("partitions", partitions, "tangent_lam_cols", tangent_lam_cols);
  Tensor tangent_y =
      make_tangent(tangent_x, partitions, {{dims.height, height}, {dims.width, width}}, dtype);
  const Solved2d solved =
      solved_of(partitions, momentum, done, dims, sharpen, iterations, implicit);
  const Tangents2d tangents = {.x = view_of("tangent_x", tangent_x),
                               .lam_rows = view_of("tangent_lam_rows", tangent_lam_rows),
                               .lam_cols = view_of("tangent_lam_cols", tangent_lam_cols)};
  const CallContext context(tangent_y, {.x = view_of("tangent_y", tangent_y),
                                        .lam_rows = lam_like(tangents.lam_rows),
                                        .lam_cols = lam_like(tangents.lam_cols),
                                        .height_dim = dims.height,
                                        .width_dim = dims.width});
  raise_unless_ok(
      prox_tv2d_jvp(solved, tangents, output_view_of("tangent_y", tangent_y), context.get()));
  return tangent_y;
}

Tensor find_gap2d(const Tensor& x, const Tensor& y, const Tensor& lam_rows, const Tensor& lam_cols,
                  const std::optional<Tensor>& dual, std::int64_t height_dim,
                  std::int64_t width_dim) {
  const auto [rows, columns] = lams_of(x, lam_rows, lam_cols);
  return find_gap(x, y, rows, columns, dual,
                  require_image_dims("x", x.dim(), height_dim, width_dim));
}

Tensor find_gap2d_number(const Tensor& x, const Tensor& y, double lam_rows, double lam_cols,
                         const std::optional<Tensor>& dual, std::int64_t height_dim,
                         std::int64_t width_dim) {
  return find_gap(x, y, lam_rows, lam_cols, dual,
                  require_image_dims("x", x.dim(), height_dim, width_dim));
}

}  // namespace tautstring::torch_ops
