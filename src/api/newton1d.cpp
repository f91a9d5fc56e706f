// The public calls of the Newton solver: check the arguments, find the backend, forward.
#include "tautstring/newton1d.h"

#include <cmath>

#include "api/arguments.h"

namespace tautstring {
namespace {

using detail::Arguments;
using detail::Backend;
using detail::footprint;
using Along = Arguments::Along;

/// Checks an optional list of one element per row.
template <class T>
T* of_rows(Arguments& arguments, const char* name, std::span<T> list) {
  if (list.empty()) return nullptr;
  arguments.require(static_cast<std::int64_t>(list.size()) == arguments.rows().count, name,
                    "must have one element per row", static_cast<double>(list.size()));
  return list.data();
}

/// Requires that no output shares memory with another output or with an input.
void require_apart(Arguments& arguments, const Problem1d& problem, const Newton1d& newton,
                   const NewtonResults1d& results) {
  const detail::OutputList lists[] = {{"partition", footprint(results.partition)},
                                      {"gap", footprint(results.gap)},
                                      {"iterations", footprint(results.iterations)},
                                      {"converged", footprint(results.converged)}};
  const auto& [partition, gap, iterations, converged] = lists;
  const ConstView& lam = problem.lam.array;
  arguments.require_apart(
      "y", results.y, problem.x,
      {lam, newton.start, results.dual, partition.own, gap.own, iterations.own, converged.own});
  arguments.require_apart("dual", results.dual, newton.start,
                          {problem.x, lam, partition.own, gap.own, iterations.own, converged.own});
  arguments.require_apart(lists, {problem.x, lam, newton.start});
}

}  // namespace

Status prox_tv1d_newton_workspace(const ConstView& x, int dim, const Context& context,
                                  std::size_t& bytes) noexcept {
  const Arguments arguments("x", x, dim);
  if (!arguments.ok()) return arguments.status();
  const Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr || backend->newton_workspace1d == nullptr) {
    return detail::unsupported_device();
  }
  bytes = backend->newton_workspace1d(arguments.rows(), context);
  return {};
}

Status prox_tv1d_newton(const Problem1d& problem, const Newton1d& newton,
                        const NewtonResults1d& results, const Context& context) noexcept {
  Arguments arguments("x", problem.x, problem.dim,
                      {problem.lam.array, newton.start, results.y, results.dual});
  detail::NewtonForward1d call;
  detail::Forward1d& forward = call.problem;
  forward.x = arguments.shaped("x", problem.x, Along::elements);
  forward.lam = arguments.lam(problem.lam);
  forward.y = arguments.output("y", results.y, Along::elements);
  forward.mode = problem.mode;
  forward.rows = arguments.rows();
  arguments.require(results.y.dtype == problem.x.dtype, "y", "must have x's dtype",
                    static_cast<double>(results.y.dtype));
  if (problem.weight.given()) {
    arguments.fail("weight", "must not be given: this solver has no data weights");
  }
  if (!results.partition.empty()) {
    arguments.require_partition(results.partition.size());
    forward.partition = results.partition.data();
  }
  arguments.require(newton.iterations >= 1, "iterations", "must be at least 1", newton.iterations);
  arguments.require(newton.tol >= 0 && std::isfinite(newton.tol), "tol", "must be >= 0 and finite",
                    newton.tol);
  arguments.require(newton.line_search <= LineSearch::halving, "line_search",
                    "must be interpolation or halving", static_cast<double>(newton.line_search));
  call.newton = newton;
  if (newton.start.given()) {
    call.start = arguments.shaped("start", newton.start, Along::edges);
  }
  call.dual = arguments.optional_output("dual", results.dual, Along::edges);
  call.gap = of_rows(arguments, "gap", results.gap);
  call.iterations = of_rows(arguments, "iterations", results.iterations);
  call.converged = of_rows(arguments, "converged", results.converged);
  require_apart(arguments, problem, newton, results);
  return dispatch(arguments, &Backend::newton1d, call, context);
}

}  // namespace tautstring
