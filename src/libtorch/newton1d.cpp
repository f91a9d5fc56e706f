// The Newton solver with autograd, as in python/tautstring/_rows.py.
#include "tautstring/torch/newton1d.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "libtorch/arguments.h"
#include "libtorch/calls.h"
#include "libtorch/maps.h"
#include "libtorch/rows.h"
#include "torch/newton1d.h"

namespace tautstring {
namespace {

using at::Tensor;
using namespace libtorch;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr const char* kFunction = "prox_tv1d_newton";

/// y, partition, done, gap, converged, dual. If `lam` is undefined, `number` is used instead.
variable_list call_solve(const Tensor& x, const Tensor& lam, double number,
                         const ProxTv1dNewtonOptions& options, std::int64_t dim,
                         bool keep_partition, bool report) {
  return libtorch::call([&] {
    const auto samples = to_stable("x", x);
    const auto start = to_optional("start", options.start);
    const bool sharpen = options.mode == Mode::sharp;
    const bool halving = options.line_search == LineSearch::halving;
    const auto results = lam.defined()
                             ? torch_ops::newton1d(samples, to_stable("lam", lam), start, dim,
                                                   sharpen, options.iterations, options.tol,
                                                   halving, options.polish, keep_partition, report)
                             : torch_ops::newton1d_number(samples, number, start, dim, sharpen,
                                                          options.iterations, options.tol, halving,
                                                          options.polish, keep_partition, report);
    return std::apply([](const auto&... tensors) { return variable_list{from_stable(tensors)...}; },
                      results);
  });
}

class Solve : public torch::autograd::Function<Solve> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x,
                               const std::optional<Tensor>& lam, double number,
                               const ProxTv1dNewtonOptions& options, std::int64_t dim,
                               bool report) {
    variable_list results =
        call_solve(x, lam.value_or(Tensor()), number, options, dim, true, report);
    const bool sharpen = options.mode == Mode::sharp;
    const Solved solved = {.batch = c10::make_intrusive<Rows>(dim, sharpen, x.size(dim)),
                           .dtype = x.scalar_type(),
                           .saved = {results[1]}};
    save_for_backward(*context, solved, {{"x", x}, {"lam", lam}}, results);
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(6);
    if (!gradients[0].defined()) return result;
    const variable_list pulled =
        libtorch::gradients_of_arguments(*context, gradients[0], {"x", "lam"});
    std::copy(pulled.begin(), pulled.end(), result.begin());
    return result;
  }
};

/// All results of the op; without `report`, those of the report are empty.
variable_list solve(const Tensor& x, const Tensor& lam, double number,
                    const ProxTv1dNewtonOptions& options, bool report) {
  const std::int64_t dim =
      libtorch::require_rows(kFunction, x, {{"lam", lam}}, options.mode, options.dim);
  libtorch::require_tensor(kFunction, "start", options.start);
  libtorch::require_known(options.line_search);
  libtorch::require_solver(options.iterations, std::nullopt);
  TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled() || !needs_gradient(options.start),
                              kFunction, ": treats start as a constant; pass it detached");
  if (x.dim() == 0) {
    variable_list results = solve(x.unsqueeze(0), lam, number, options, report);
    results[0] = results[0].squeeze(0);
    return results;
  }
  if (!at::GradMode::is_enabled() || !(needs_gradient(x) || needs_gradient(lam))) {
    const at::NoGradGuard nothing_to_record;
    return call_solve(x, lam, number, options, dim, false, report);
  }
  return Solve::apply(x, if_defined(lam), number, options, dim, report);
}

std::pair<Tensor, ProxTv1dNewtonInfo> with_info(const variable_list& results) {
  return {
      results[0],
      {.iterations = results[2], .gap = results[3], .converged = results[4], .dual = results[5]}};
}

}  // namespace

Tensor prox_tv1d_newton(const Tensor& x, const Tensor& lam, const ProxTv1dNewtonOptions& options) {
  TORCH_CHECK_VALUE(lam.defined(), "lam: must be defined");
  return solve(x, lam, 0, options, false)[0];
}

Tensor prox_tv1d_newton(const Tensor& x, double lam, const ProxTv1dNewtonOptions& options) {
  return solve(x, {}, lam, options, false)[0];
}

std::pair<Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const Tensor& x, const Tensor& lam, const ProxTv1dNewtonOptions& options) {
  TORCH_CHECK_VALUE(lam.defined(), "lam: must be defined");
  return with_info(solve(x, lam, 0, options, true));
}

std::pair<Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const Tensor& x, double lam, const ProxTv1dNewtonOptions& options) {
  return with_info(solve(x, {}, lam, options, true));
}

}  // namespace tautstring
