#include "tv1d.h"

#include <algorithm>
#include <utility>

#include "call_context.h"
#include "lams.h"
#include "tautstring/tautstring.h"
#include "tensors.h"

namespace tautstring::torch_ops {
namespace {

std::tuple<Tensor, Tensor> solve(const Tensor& x, const Lam& lam,
                                 const std::optional<Tensor>& weight, std::int64_t dim,
                                 bool sharpen, bool keep_partition) {
  require_device_of("x", x, "weight", weight);
  require_dim("x", x, dim);
  const Problem1d problem = {.x = view_of("x", x),
                             .lam = lam,
                             .weight = view_of("weight", weight),
                             .dim = static_cast<int>(dim),
                             .mode = mode_of(sharpen)};
  const CallContext context(x, weight.has_value(), dim);
  Tensor y = make_like(x, x.scalar_type());
  Tensor partition = make_partition(x, dim, keep_partition);
  raise_unless_ok(
      prox_tv1d(problem, output_view_of("y", y), output_words_of(partition), context.get()));
  return {std::move(y), std::move(partition)};
}

Solved1d solved_of(const Tensor& partition, const std::optional<Tensor>& x,
                   const std::optional<Tensor>& y, const std::optional<Tensor>& weight,
                   std::int64_t dim, bool sharpen) {
  return {.partition = words_of(partition),
          .x = view_of("x", x),
          .y = view_of("y", y),
          .weight = view_of("weight", weight),
          .dim = static_cast<int>(dim),
          .mode = mode_of(sharpen)};
}

Tensor certify(const Tensor& x, const Tensor& y, const Lam& lam,
               const std::optional<Tensor>& weight, std::int64_t dim) {
  require_device_of("x", x, "y", y);
  require_device_of("x", x, "weight", weight);
  require_dim("x", x, dim);
  const Problem1d problem = {.x = view_of("x", x),
                             .lam = lam,
                             .weight = view_of("weight", weight),
                             .dim = static_cast<int>(dim)};
  const CallContext context(x, weight.has_value(), dim);
  Tensor out = make_tensor(shape_with_size(x, dim, 1), arithmetic_dtype(x.scalar_type()), x);
  raise_unless_ok(
      certificate1d(problem, view_of("y", y), output_view_of("out", out), context.get()));
  return out;
}

}  // namespace

std::tuple<Tensor, Tensor> solve1d(const Tensor& x, const Tensor& lam,
                                   const std::optional<Tensor>& weight, std::int64_t dim,
                                   bool sharpen, bool keep_partition) {
  return solve(x, lam_of("lam", x, lam), weight, dim, sharpen, keep_partition);
}

std::tuple<Tensor, Tensor> solve1d_number(const Tensor& x, double lam,
                                          const std::optional<Tensor>& weight, std::int64_t dim,
                                          bool sharpen, bool keep_partition) {
  return solve(x, lam, weight, dim, sharpen, keep_partition);
}

std::tuple<Tensor, Tensor> backward1d(const Tensor& grad_y, const Tensor& partition,
                                      std::int64_t dim, bool sharpen, ScalarType x_dtype,
                                      std::int64_t lam_size,
                                      const std::vector<std::int64_t>& lam_shared_dims,
                                      ScalarType lam_dtype, bool wants_x, bool wants_lam) {
  require_dim("grad_y", grad_y, dim);
  require_device_of("grad_y", grad_y, "partition", partition);
  Tensor grad_x = wants_x ? make_like(grad_y, x_dtype) : make_nothing(grad_y);
  const LamGradient grad_lam(wants_lam, {dim, lam_size, lam_shared_dims, lam_dtype}, grad_y,
                             x_dtype);
  const Gradients1d gradients = {.x = wants_x ? output_view_of("grad_x", grad_x) : View{},
                                 .lam = grad_lam.view("grad_lam")};
  const Solved1d solved = {
      .partition = words_of(partition), .dim = static_cast<int>(dim), .mode = mode_of(sharpen)};
  const CallContext context(grad_y, false, dim);
  raise_unless_ok(prox_tv1d_backward(solved, view_of("grad_y", grad_y), gradients, context.get()));
  return {std::move(grad_x), grad_lam.take()};
}

std::tuple<Tensor, Tensor, Tensor> weighted_backward1d(
    const Tensor& grad_y, const Tensor& partition, const Tensor& x, const Tensor& y,
    const Tensor& weight, std::int64_t dim, bool sharpen, std::int64_t lam_size,
    const std::vector<std::int64_t>& lam_shared_dims, ScalarType lam_dtype, bool wants_x,
    bool wants_lam, bool wants_weight) {
  require_dim("grad_y", grad_y, dim);
  require_device_of("grad_y", grad_y, "partition", partition);
  require_device_of("grad_y", grad_y, "x", x);
  require_device_of("grad_y", grad_y, "y", y);
  require_device_of("grad_y", grad_y, "weight", weight);
  const ScalarType x_dtype = x.scalar_type();
  Tensor grad_x = wants_x ? make_like(grad_y, x_dtype) : make_nothing(grad_y);
  const LamGradient grad_lam(wants_lam, {dim, lam_size, lam_shared_dims, lam_dtype}, grad_y,
                             x_dtype);
  Tensor grad_weight =
      wants_weight ? make_like(grad_y, arithmetic_dtype(x_dtype)) : make_nothing(grad_y);
  const Gradients1d gradients = {
      .x = wants_x ? output_view_of("grad_x", grad_x) : View{},
      .lam = grad_lam.view("grad_lam"),
      .weight = wants_weight ? output_view_of("grad_weight", grad_weight) : View{}};
  const Solved1d solved = solved_of(partition, x, y, weight, dim, sharpen);
  const CallContext context(grad_y, true, dim);
  raise_unless_ok(prox_tv1d_backward(solved, view_of("grad_y", grad_y), gradients, context.get()));
  return {std::move(grad_x), grad_lam.take(), std::move(grad_weight)};
}

Tensor jvp1d(const Tensor& partition, const std::optional<Tensor>& x,
             const std::optional<Tensor>& y, const std::optional<Tensor>& weight,
             const std::optional<Tensor>& tangent_x, const std::optional<Tensor>& tangent_lam,
             const std::optional<Tensor>& tangent_weight, std::int64_t dim, bool sharpen,
             std::int64_t n, ScalarType dtype) {
  require_dim("partition", partition, dim);  // as many dimensions as x, with bytes in place of
                                             // elements
  require_device_of("partition", partition, "x", x);
  require_device_of("partition", partition, "y", y);
  require_device_of("partition", partition, "weight", weight);
  require_device_of("partition", partition, "tangent_x", tangent_x);
  require_device_of("partition", partition, "tangent_lam", tangent_lam);
  require_device_of("partition", partition, "tangent_weight", tangent_weight);
  Tensor tangent_y = make_tangent(tangent_x, partition, {{dim, n}}, dtype);
  const Solved1d solved = solved_of(partition, x, y, weight, dim, sharpen);
  const Tangents1d tangents = {.x = view_of("tangent_x", tangent_x),
                               .lam = view_of("tangent_lam", tangent_lam),
                               .weight = view_of("tangent_weight", tangent_weight)};
  const CallContext context(tangent_y, weight.has_value(), dim);
  raise_unless_ok(
      prox_tv1d_jvp(solved, tangents, output_view_of("tangent_y", tangent_y), context.get()));
  return tangent_y;
}

Tensor certify1d(const Tensor& x, const Tensor& y, const Tensor& lam,
                 const std::optional<Tensor>& weight, std::int64_t dim) {
  return certify(x, y, lam_of("lam", x, lam), weight, dim);
}

Tensor certify1d_number(const Tensor& x, const Tensor& y, double lam,
                        const std::optional<Tensor>& weight, std::int64_t dim) {
  return certify(x, y, lam, weight, dim);
}

Tensor find_lam_max(const Tensor& x, const std::optional<Tensor>& weight, std::int64_t dim) {
  require_device_of("x", x, "weight", weight);
  require_dim("x", x, dim);
  const CallContext context(x, weight.has_value(), dim);
  Tensor out = make_tensor(shape_with_size(x, dim, 1), arithmetic_dtype(x.scalar_type()), x);
  raise_unless_ok(lam_max(view_of("x", x), output_view_of("out", out), view_of("weight", weight),
                          static_cast<int>(dim), context.get()));
  return out;
}

Tensor find_path1d(const Tensor& x, const std::optional<Tensor>& weight, std::int64_t dim) {
  require_device_of("x", x, "weight", weight);
  require_dim("x", x, dim);
  const CallContext context(x, weight.has_value(), dim);
  const std::int64_t edges = std::max<std::int64_t>(x.size(dim) - 1, 0);
  Tensor lams = make_tensor(shape_with_size(x, dim, edges), arithmetic_dtype(x.scalar_type()), x);
  raise_unless_ok(path1d(view_of("x", x), output_view_of("lams", lams), view_of("weight", weight),
                         static_cast<int>(dim), context.get()));
  return lams;
}

}  // namespace tautstring::torch_ops
