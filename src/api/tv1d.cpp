// The public 1D calls: check the arguments, find the backend, forward.
#include "tautstring/tv1d.h"

#include "api/arguments.h"

namespace tautstring {
namespace {

using detail::Arguments;
using detail::Backend;
using detail::footprint;
using detail::Footprint;
using Along = Arguments::Along;

detail::SolvedRows lay_out(Arguments& arguments, const Solved1d& solved) {
  detail::SolvedRows result;
  arguments.require_partition(solved.partition.size());
  result.partition = solved.partition.data();
  result.mode = solved.mode;
  if (solved.weight.given()) {
    result.weight = arguments.broadcast("weight", solved.weight, Along::elements);
    result.x = arguments.shaped("x", solved.x, Along::elements);
    result.y = arguments.shaped("y", solved.y, Along::elements);
  }
  result.rows = arguments.rows();
  return result;
}

}  // namespace

std::int64_t row_count(const ConstView& x, int dim) noexcept {
  const Arguments arguments("x", x, dim);
  return arguments.ok() ? arguments.rows().count : 0;
}

std::int64_t row_length(const ConstView& x, int dim) noexcept {
  const Arguments arguments("x", x, dim);
  return arguments.ok() ? arguments.rows().n : 0;
}

Status prox_tv1d(const Problem1d& problem, const View& y, std::span<std::uint32_t> partition,
                 const Context& context) noexcept {
  Arguments arguments("x", problem.x, problem.dim, {problem.lam.array, problem.weight, y});
  detail::Forward1d call;
  call.x = arguments.shaped("x", problem.x, Along::elements);
  call.lam = arguments.lam(problem.lam);
  call.weight = arguments.optional_broadcast("weight", problem.weight, Along::elements);
  call.y = arguments.output("y", y, Along::elements);
  call.mode = problem.mode;
  call.rows = arguments.rows();
  arguments.require(y.dtype == problem.x.dtype, "y", "must have x's dtype",
                    static_cast<double>(y.dtype));
  if (!partition.empty()) {
    arguments.require_partition(partition.size());
    call.partition = partition.data();
  }
  arguments.require_apart("y", y, problem.x,
                          {problem.lam.array, problem.weight, footprint(partition)});
  if (arguments.ok() && (may_overlap(footprint(partition), problem.x) ||
                         may_overlap(footprint(partition), problem.lam.array) ||
                         may_overlap(footprint(partition), problem.weight))) {
    arguments.fail("partition", "must not share memory with another argument");
  }
  return dispatch(arguments, &Backend::forward1d, call, context);
}

Status prox_tv1d_workspace(const ConstView& x, bool weighted, int dim, const Context& context,
                           std::size_t& bytes) noexcept {
  const Arguments arguments("x", x, dim);
  if (!arguments.ok()) return arguments.status();
  const Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr) return detail::unsupported_device();
  bytes = backend->workspace1d(arguments.rows(), weighted, context);
  return {};
}

Status prox_tv1d_backward(const Solved1d& solved, const ConstView& grad_y,
                          const Gradients1d& gradients, const Context& context) noexcept {
  Arguments arguments(
      "grad_y", grad_y, solved.dim,
      {solved.x, solved.y, solved.weight, gradients.x, gradients.lam, gradients.weight});
  detail::Backward1d call;
  call.solved = lay_out(arguments, solved);
  call.grad_y = arguments.shaped("grad_y", grad_y, Along::elements);
  call.grad_x = arguments.optional_output("gradients.x", gradients.x, Along::elements);
  call.grad_lam = arguments.lam_gradient("gradients.lam", gradients.lam, context.device);
  call.grad_weight =
      arguments.optional_output("gradients.weight", gradients.weight, Along::elements);
  if (gradients.weight.given() && !solved.weight.given()) {
    arguments.fail("gradients.weight", "needs solved.weight, solved.x and solved.y");
  }
  const Footprint partition = footprint(solved.partition);
  arguments.require_apart(
      "gradients.x", gradients.x, grad_y,
      {solved.x, solved.y, solved.weight, partition, gradients.lam, gradients.weight});
  arguments.require_apart("gradients.lam", gradients.lam, {},
                          {grad_y, solved.x, solved.y, solved.weight, partition, gradients.weight});
  arguments.require_apart("gradients.weight", gradients.weight, {},
                          {grad_y, solved.x, solved.y, solved.weight, partition});
  return dispatch(arguments, &Backend::backward1d, call, context);
}

Status prox_tv1d_jvp(const Solved1d& solved, const Tangents1d& tangents, const View& tangent_y,
                     const Context& context) noexcept {
  Arguments arguments(
      "tangent_y", tangent_y, solved.dim,
      {solved.x, solved.y, solved.weight, tangents.x, tangents.lam, tangents.weight});
  detail::Jvp1d call;
  call.solved = lay_out(arguments, solved);
  if (tangents.x.given())
    call.tangent_x = arguments.shaped("tangents.x", tangents.x, Along::elements);
  call.tangent_lam =
      arguments.optional_broadcast("tangents.lam", tangents.lam, Along::row_or_edges);
  call.tangent_weight =
      arguments.optional_broadcast("tangents.weight", tangents.weight, Along::elements);
  call.tangent_y = arguments.output("tangent_y", tangent_y, Along::elements);
  if (tangents.weight.given() && !solved.weight.given()) {
    arguments.fail("tangents.weight", "needs solved.weight, solved.x and solved.y");
  }
  arguments.require_apart("tangent_y", tangent_y, tangents.x,
                          {tangents.lam, tangents.weight, solved.x, solved.y, solved.weight,
                           footprint(solved.partition)});
  return dispatch(arguments, &Backend::jvp1d, call, context);
}

Status lam_max(const ConstView& x, const View& out, const ConstView& weight, int dim,
               const Context& context) noexcept {
  Arguments arguments("x", x, dim, {weight, out});
  detail::RowReduction call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.weight = arguments.optional_broadcast("weight", weight, Along::elements);
  call.out = arguments.output("out", out, Along::row);
  call.rows = arguments.rows();
  arguments.require_apart("out", out, {}, {x, weight});
  return dispatch(arguments, &Backend::lam_max, call, context);
}

Status tv(const ConstView& x, const View& out, int dim, const Context& context) noexcept {
  Arguments arguments("x", x, dim, {out});
  detail::RowReduction call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.out = arguments.output("out", out, Along::row);
  call.rows = arguments.rows();
  arguments.require_apart("out", out, {}, {x});
  return dispatch(arguments, &Backend::tv, call, context);
}

}  // namespace tautstring
