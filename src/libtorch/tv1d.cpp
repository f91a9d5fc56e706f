// The 1D function with autograd, as in python/tautstring/_rows.py.
#include "tautstring/torch/tv1d.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "libtorch/arguments.h"
#include "libtorch/calls.h"
#include "libtorch/maps.h"
#include "libtorch/rows.h"
#include "torch/tv1d.h"

namespace tautstring {
namespace {

using at::Tensor;
using namespace libtorch;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The pull-back with weights. Its own derivative exists only in Python; here it throws.
class WeightedPullBack : public torch::autograd::Function<WeightedPullBack> {
 public:
  static variable_list forward(AutogradContext* /*context*/, const Tensor& grad_y,
                               const Solved& solved, const Wanted& wanted, bool wants_weight) {
    const auto& rows = static_cast<const Rows&>(solved.maps());
    return rows.weighted_pull_back(solved.saved, grad_y, wanted, wants_weight);
  }

  static variable_list backward(AutogradContext* /*context*/, const variable_list& /*cotangents*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "prox_tv1d: has no second derivative with weight in C++, only in Python");
  }
};

class Solve : public torch::autograd::Function<Solve> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x,
                               const std::optional<Tensor>& lam,
                               const std::optional<Tensor>& weight, double number, std::int64_t dim,
                               bool sharpen) {
    const auto [y, partition] =
        solve(x, lam.value_or(Tensor()), weight.value_or(Tensor()), number, dim, sharpen, true);
    const Solved solved = {
        .batch = c10::make_intrusive<Rows>(dim, sharpen, x.size(dim)),
        .dtype = x.scalar_type(),
        .saved = weight ? variable_list{partition, x, y, *weight} : variable_list{partition}};
    variable_list results = {y, partition};
    save_for_backward(*context, solved, {{"x", x}, {"lam", lam}, {"weight", weight}}, results);
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(6);
    const Tensor& grad_y = gradients[0];
    if (!grad_y.defined()) return result;
    const Solved solved = Solved::load(*context);
    const auto arguments = Argument::load(*context, {"x", "lam", "weight"});
    const auto& [x, lam, weight] = std::tie(arguments[0], arguments[1], arguments[2]);
    variable_list pulled;
    if (solved.saved.size() == 1) {
      pulled = libtorch::gradients_of_arguments(solved, grad_y, x, {lam, Argument()});
    } else {
      const Wanted wanted = {
          .x = x.needs_gradient,
          .lams = {lam.needs_gradient},
          .lam_sizes = {lam.size_along(solved.maps().lam_dims()[0], grad_y.dim())}};
      pulled = WeightedPullBack::apply(grad_y, solved, wanted, weight.needs_gradient);
      for (std::size_t i = 0; i < pulled.size(); ++i) pulled[i] = arguments[i].sum(pulled[i]);
    }
    std::copy(pulled.begin(), pulled.end(), result.begin());
    return result;
  }

  /// The solution and its partition, which is empty if it is not kept.
  static std::tuple<Tensor, Tensor> solve(const Tensor& x, const Tensor& lam, const Tensor& weight,
                                          double number, std::int64_t dim, bool sharpen,
                                          bool keep_partition) {
    return call([&] {
      const auto samples = to_stable("x", x);
      const auto weights = to_optional("weight", weight);
      const auto [y, partition] =
          lam.defined()
              ? torch_ops::solve1d(samples, to_stable("lam", lam), weights, dim, sharpen,
                                   keep_partition)
              : torch_ops::solve1d_number(samples, number, weights, dim, sharpen, keep_partition);
      return std::tuple(from_stable(y), from_stable(partition));
    });
  }
};

/// If `lam` is undefined, `number` is used instead.
Tensor solve(const Tensor& x, const Tensor& lam, double number, const ProxTv1dOptions& options) {
  const std::int64_t dim = libtorch::require_rows(
      "prox_tv1d", x, {{"lam", lam}, {"weight", options.weight}}, options.mode, options.dim);
  if (x.dim() == 0) return solve(x.unsqueeze(0), lam, number, options).squeeze(0);
  const bool sharpen = options.mode == Mode::sharp;
  const bool records = at::GradMode::is_enabled() &&
                       (needs_gradient(x) || needs_gradient(lam) || needs_gradient(options.weight));
  if (!records) {
    const at::NoGradGuard nothing_to_record;
    return std::get<0>(Solve::solve(x, lam, options.weight, number, dim, sharpen, false));
  }
  return Solve::apply(x, if_defined(lam), if_defined(options.weight), number, dim, sharpen)[0];
}

}  // namespace

Tensor prox_tv1d(const Tensor& x, const Tensor& lam, const ProxTv1dOptions& options) {
  TORCH_CHECK_VALUE(lam.defined(), "lam: must be defined");
  return solve(x, lam, 0, options);
}

Tensor prox_tv1d(const Tensor& x, double lam, const ProxTv1dOptions& options) {
  return solve(x, {}, lam, options);
}

}  // namespace tautstring
