// Autograd in C++: two linear maps over the partition, each the other's derivative, as
// in python/tautline/_autograd.py.
#include "tautline/torch/tv1d.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libtorch/arguments.h"
#include "libtorch/calls.h"
#include "torch/tv1d.h"

namespace tautline {
namespace {

using at::Tensor;
using libtorch::call;
using libtorch::from_stable;
using libtorch::to_optional;
using libtorch::to_stable;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Functions take a tensor that may be undefined as one that may not be there.
std::optional<Tensor> if_defined(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// What a solved batch is, beside its tensors.
struct Batch {
  std::int64_t dim;
  bool sharpen;
  std::int64_t n;
  at::ScalarType dtype;

  void save(AutogradContext& context) const {
    context.saved_data["dim"] = dim;
    context.saved_data["sharpen"] = sharpen;
    context.saved_data["n"] = n;
    context.saved_data["dtype"] = static_cast<std::int64_t>(dtype);
  }

  static Batch load(AutogradContext& context) {
    return {.dim = context.saved_data["dim"].toInt(),
            .sharpen = context.saved_data["sharpen"].toBool(),
            .n = context.saved_data["n"].toInt(),
            .dtype = static_cast<at::ScalarType>(context.saved_data["dtype"].toInt())};
  }
};

/// Which gradients of x, lam and weight are wanted, and lam's size along dim.
struct Wanted {
  bool x;
  bool lam;
  bool weight;
  std::int64_t lam_size;
};

struct Gradients {
  Tensor x;
  Tensor lam;
  Tensor weight;
};

/// The gradients of x, lam and weight, in x's shape; empty those that nobody wants.
Gradients pull_back(const Tensor& grad_y, const Tensor& partition, const Tensor& x, const Tensor& y,
                    const Tensor& weight, const Batch& batch, const Wanted& wanted) {
  return call([&] {
    // lam's in the arithmetic's dtype, and not summed: over what, is known above.
    const at::ScalarType lam_dtype = batch.dtype == at::kDouble ? at::kDouble : at::kFloat;
    if (!weight.defined()) {
      const auto [grad_x, grad_lam] = torch_ops::backward1d(
          to_stable("grad_y", grad_y), to_stable("partition", partition), batch.dim, batch.sharpen,
          batch.dtype, wanted.lam_size, {}, lam_dtype, wanted.x, wanted.lam);
      return Gradients{.x = from_stable(grad_x), .lam = from_stable(grad_lam), .weight = {}};
    }
    const auto [grad_x, grad_lam, grad_weight] = torch_ops::weighted_backward1d(
        to_stable("grad_y", grad_y), to_stable("partition", partition), to_stable("x", x),
        to_stable("y", y), to_stable("weight", weight), batch.dim, batch.sharpen, wanted.lam_size,
        {}, lam_dtype, wanted.x, wanted.lam, wanted.weight);
    return Gradients{
        .x = from_stable(grad_x), .lam = from_stable(grad_lam), .weight = from_stable(grad_weight)};
  });
}

Tensor push_forward(const Tensor& partition, const Tensor& tangent_x, const Tensor& tangent_lam,
                    const Batch& batch) {
  return call([&] {
    return from_stable(torch_ops::jvp1d(
        to_stable("partition", partition), std::nullopt, std::nullopt, std::nullopt,
        to_optional("tangent_x", tangent_x), to_optional("tangent_lam", tangent_lam), std::nullopt,
        batch.dim, batch.sharpen, batch.n, batch.dtype));
  });
}

/// Sums a gradient over all that an argument was broadcast to, in float64.
Tensor sum_to_shape(Tensor gradient, at::IntArrayRef shape, const at::TensorOptions& options) {
  const std::int64_t added = gradient.dim() - static_cast<std::int64_t>(shape.size());
  std::vector<std::int64_t> shared;
  for (std::int64_t d = 0; d < gradient.dim(); ++d) {
    const bool is_stretched = d >= added && shape[static_cast<std::size_t>(d - added)] == 1;
    if (d < added || (is_stretched && gradient.size(d) != 1)) shared.push_back(d);
  }
  if (!shared.empty()) gradient = gradient.sum(shared, false, at::kDouble);
  return gradient.reshape(shape).to(options);
}

/// Shape, dtype and device of an argument, which its gradient has too.
struct Argument {
  bool needs_gradient = false;
  std::vector<std::int64_t> shape;
  at::TensorOptions options;

  static void save(AutogradContext& context, const std::string& name,
                   const std::optional<Tensor>& tensor) {
    if (!tensor) return;
    context.saved_data[name + ".shape"] = tensor->sizes().vec();
    context.saved_data[name + ".dtype"] = static_cast<std::int64_t>(tensor->scalar_type());
    context.saved_data[name + ".device"] = tensor->device();
  }

  /// The arguments of a function, in their order: torch counts those that were given.
  static std::vector<Argument> load(AutogradContext& context,
                                    std::initializer_list<std::string> names) {
    std::vector<Argument> arguments;
    std::size_t given = 0;
    for (const std::string& name : names) {
      Argument& argument = arguments.emplace_back();
      if (context.saved_data.count(name + ".shape") == 0) continue;
      argument.needs_gradient = context.needs_input_grad(given++);
      argument.shape = context.saved_data[name + ".shape"].toIntVector();
      argument.options =
          at::TensorOptions()
              .dtype(static_cast<at::ScalarType>(context.saved_data[name + ".dtype"].toInt()))
              .device(context.saved_data[name + ".device"].toDevice());
    }
    return arguments;
  }

  /// Its size along dimension `dim` of the `ndim` that it broadcasts to.
  [[nodiscard]] std::int64_t size_along(std::int64_t dim, std::int64_t ndim) const {
    const std::int64_t own = dim - (ndim - static_cast<std::int64_t>(shape.size()));
    return own >= 0 && !shape.empty() ? shape[static_cast<std::size_t>(own)] : 1;
  }

  /// Its own gradient, from that in x's shape; undefined where nobody needs it.
  [[nodiscard]] Tensor sum(const Tensor& gradient) const {
    return needs_gradient ? sum_to_shape(gradient, shape, options) : Tensor();
  }
};

/// push_forward with a derivative: pull_back, once more.
class PushForward : public torch::autograd::Function<PushForward> {
 public:
  static Tensor forward(AutogradContext* context, const std::optional<Tensor>& tangent_x,
                        const std::optional<Tensor>& tangent_lam, const Tensor& partition,
                        const Batch& batch);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

/// pull_back without weights, with a derivative: push_forward.
class PullBack : public torch::autograd::Function<PullBack> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& grad_y,
                               const Tensor& partition, const Batch& batch, const Wanted& wanted) {
    batch.save(*context);
    context->saved_data["grad_dtype"] = static_cast<std::int64_t>(grad_y.scalar_type());
    context->save_for_backward({partition});
    context->set_materialize_grads(false);
    const Gradients gradients = pull_back(grad_y, partition, {}, {}, {}, batch, wanted);
    return {gradients.x, gradients.lam};
  }

  static variable_list backward(AutogradContext* context, const variable_list& cotangents) {
    Batch batch = Batch::load(*context);
    batch.dtype = static_cast<at::ScalarType>(context->saved_data["grad_dtype"].toInt());
    const Tensor partition = context->get_saved_variables()[0];
    Tensor grad;
    if (cotangents[0].defined() || cotangents[1].defined()) {
      grad = PushForward::apply(if_defined(cotangents[0]), if_defined(cotangents[1]), partition,
                                batch);
    }
    return {grad, Tensor(), Tensor(), Tensor()};
  }
};

Tensor PushForward::forward(AutogradContext* context, const std::optional<Tensor>& tangent_x,
                            const std::optional<Tensor>& tangent_lam, const Tensor& partition,
                            const Batch& batch) {
  batch.save(*context);
  Argument::save(*context, "x", tangent_x);
  Argument::save(*context, "lam", tangent_lam);
  context->save_for_backward({partition});
  return push_forward(partition, tangent_x.value_or(Tensor()), tangent_lam.value_or(Tensor()),
                      batch);
}

variable_list PushForward::backward(AutogradContext* context, const variable_list& gradients) {
  const Batch batch = Batch::load(*context);
  const Tensor partition = context->get_saved_variables()[0];
  const auto arguments = Argument::load(*context, {"x", "lam"});
  const Wanted wanted = {.x = arguments[0].needs_gradient,
                         .lam = arguments[1].needs_gradient,
                         .weight = false,
                         .lam_size = arguments[1].size_along(batch.dim, gradients[0].dim())};
  const variable_list pulled = PullBack::apply(gradients[0], partition, batch, wanted);
  return {arguments[0].sum(pulled[0]), arguments[1].sum(pulled[1]), Tensor(), Tensor()};
}

/// pull_back with weights. Its own derivative is Python's alone, and says so.
class WeightedPullBack : public torch::autograd::Function<WeightedPullBack> {
 public:
  static variable_list forward(AutogradContext* /*context*/, const Tensor& grad_y,
                               const Tensor& partition, const Tensor& x, const Tensor& y,
                               const Tensor& weight, const Batch& batch, const Wanted& wanted) {
    const Gradients gradients = pull_back(grad_y, partition, x, y, weight, batch, wanted);
    return {gradients.x, gradients.lam, gradients.weight};
  }

  static variable_list backward(AutogradContext* /*context*/, const variable_list& /*cotangents*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "prox_tv1d: has no second derivative with weight in C++; Python's has");
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
    const Batch batch = {
        .dim = dim, .sharpen = sharpen, .n = x.size(dim), .dtype = x.scalar_type()};
    batch.save(*context);
    Argument::save(*context, "x", x);
    Argument::save(*context, "lam", lam);
    Argument::save(*context, "weight", weight);
    context->save_for_backward(weight ? variable_list{partition, x, y, *weight}
                                      : variable_list{partition});
    context->mark_non_differentiable({partition});
    context->set_materialize_grads(false);
    return {y, partition};
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(6);
    const Tensor& grad_y = gradients[0];
    if (!grad_y.defined()) return result;
    const Batch batch = Batch::load(*context);
    const variable_list saved = context->get_saved_variables();
    const bool is_weighted = saved.size() > 1;
    const auto arguments = Argument::load(*context, {"x", "lam", "weight"});
    const Wanted wanted = {.x = arguments[0].needs_gradient,
                           .lam = arguments[1].needs_gradient,
                           .weight = arguments[2].needs_gradient,
                           .lam_size = arguments[1].size_along(batch.dim, grad_y.dim())};
    const variable_list pulled =
        is_weighted
            ? WeightedPullBack::apply(grad_y, saved[0], saved[1], saved[2], saved[3], batch, wanted)
            : PullBack::apply(grad_y, saved[0], batch, wanted);
    for (std::size_t i = 0; i < pulled.size(); ++i) result[i] = arguments[i].sum(pulled[i]);
    return result;
  }

  /// The solution and its partition, which is empty where it is not to be kept.
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

void require_floating(const char* name, const Tensor& tensor) {
  if (!tensor.defined()) return;
  const at::ScalarType type = tensor.scalar_type();
  TORCH_CHECK_VALUE(
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16, name,
      ": dtype must be float16, bfloat16, float32 or float64, got ", type);
}

/// Without this a dual tensor would lose its tangent in silence: torch's functions in C++
/// have no forward derivative, and where no gradient is recorded they are not even asked.
void refuse_tangent(const char* name, const Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.defined() || !tensor._fw_grad(/*level=*/0).defined(), name,
                              ": must have no tangent, since prox_tv1d has no forward derivative "
                              "in C++; Python's has");
}

bool needs_gradient(const Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

/// `lam` undefined: `number` instead.
Tensor solve(const Tensor& x, const Tensor& lam, double number, const ProxTv1dOptions& options) {
  TORCH_CHECK_VALUE(x.defined(), "x: must be defined");
  for (const auto& [name, tensor] :
       {std::pair("x", x), std::pair("lam", lam), std::pair("weight", options.weight)}) {
    require_floating(name, tensor);
    refuse_tangent(name, tensor);
  }
  libtorch::require_known(options.mode);
  const std::int64_t dims = std::max<std::int64_t>(x.dim(), 1);
  TORCH_CHECK_VALUE(options.dim >= -dims && options.dim < dims, "dim: must be from ", -dims, " to ",
                    dims - 1, " for this x, got ", options.dim);
  if (x.dim() == 0) {
    for (const auto& [name, tensor] :
         {std::pair("lam", lam), std::pair("weight", options.weight)}) {
      TORCH_CHECK_VALUE(!tensor.defined() || tensor.dim() == 0, name,
                        ": must not have more dimensions than x, got ", tensor.dim());
    }
    return solve(x.unsqueeze(0), lam, number, options).squeeze(0);
  }
  const std::int64_t dim = options.dim < 0 ? options.dim + dims : options.dim;
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

}  // namespace tautline
