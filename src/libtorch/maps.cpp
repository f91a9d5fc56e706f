#include "libtorch/maps.h"

#include <algorithm>

namespace tautstring::libtorch {
namespace {

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

class PushForward : public torch::autograd::Function<PushForward> {
 public:
  static Tensor forward(AutogradContext* context, const std::optional<Tensor>& tangent_x,
                        const std::optional<Tensor>& tangent_lam,
                        const std::optional<Tensor>& tangent_other_lam, const Solved& solved);
  static variable_list backward(AutogradContext* context, const variable_list& gradients);
};

/// Maps the gradient of y to those of x and the lams, in x's shape.
class PullBack : public torch::autograd::Function<PullBack> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& grad_y, const Solved& solved,
                               const Wanted& wanted) {
    Solved same = solved;
    same.dtype = grad_y.scalar_type();  // its derivative is a tangent of grad_y
    same.save(*context);
    context->set_materialize_grads(false);
    return solved.maps().pull_back(solved.saved, grad_y, wanted, solved.dtype);
  }

  static variable_list backward(AutogradContext* context, const variable_list& cotangents) {
    const Solved solved = Solved::load(*context);
    PerLam<Tensor> for_lams;
    std::copy(cotangents.begin() + 1, cotangents.end(), for_lams.begin());
    Tensor grad;
    if (cotangents[0].defined() || for_lams[0].defined() || for_lams[1].defined()) {
      grad = PushForward::apply(if_defined(cotangents[0]), if_defined(for_lams[0]),
                                if_defined(for_lams[1]), solved);
    }
    return {grad, Tensor(), Tensor()};
  }
};

Tensor PushForward::forward(AutogradContext* context, const std::optional<Tensor>& tangent_x,
                            const std::optional<Tensor>& tangent_lam,
                            const std::optional<Tensor>& tangent_other_lam, const Solved& solved) {
  solved.save(*context);
  Argument::save(*context, "x", tangent_x);
  Argument::save(*context, "lam", tangent_lam);
  Argument::save(*context, "other_lam", tangent_other_lam);
  const PerLam<Tensor> tangent_lams = {tangent_lam.value_or(Tensor()),
                                       tangent_other_lam.value_or(Tensor())};
  return solved.maps().push_forward(solved.saved, tangent_x.value_or(Tensor()), tangent_lams,
                                    solved.dtype);
}

variable_list PushForward::backward(AutogradContext* context, const variable_list& gradients) {
  const Solved solved = Solved::load(*context);
  const auto arguments = Argument::load(*context, {"x", "lam", "other_lam"});
  variable_list pulled =
      gradients_of_arguments(solved, gradients[0], arguments[0], {arguments[1], arguments[2]});
  pulled.emplace_back();  // for the argument that is not a tensor
  return pulled;
}

}  // namespace

void Solved::save(AutogradContext& context) const {
  context.saved_data["batch"] = c10::IValue::make_capsule(batch);
  context.saved_data["dtype"] = static_cast<std::int64_t>(dtype);
  context.save_for_backward(saved);
}

Solved Solved::load(AutogradContext& context) {
  return {.batch = context.saved_data["batch"].toCapsule(),
          .dtype = static_cast<at::ScalarType>(context.saved_data["dtype"].toInt()),
          .saved = context.get_saved_variables()};
}

void Argument::save(AutogradContext& context, const std::string& name,
                    const std::optional<Tensor>& tensor) {
  if (!tensor) return;
  context.saved_data[name + ".shape"] = tensor->sizes().vec();
  context.saved_data[name + ".dtype"] = static_cast<std::int64_t>(tensor->scalar_type());
  context.saved_data[name + ".device"] = tensor->device();
}

std::vector<Argument> Argument::load(AutogradContext& context,
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

std::int64_t Argument::size_along(std::int64_t dim, std::int64_t ndim) const {
  const std::int64_t own = dim - (ndim - static_cast<std::int64_t>(shape.size()));
  return own >= 0 && !shape.empty() ? shape[static_cast<std::size_t>(own)] : 1;
}

Tensor Argument::sum(const Tensor& gradient) const {
  return needs_gradient ? sum_to_shape(gradient, shape, options) : Tensor();
}

void save_for_backward(
    AutogradContext& context, const Solved& solved,
    std::initializer_list<std::pair<const char*, std::optional<Tensor>>> arguments,
    const variable_list& results) {
  solved.save(context);
  for (const auto& [name, tensor] : arguments) Argument::save(context, name, tensor);
  context.mark_non_differentiable({results.begin() + 1, results.end()});
  context.set_materialize_grads(false);
}

variable_list gradients_of_arguments(const Solved& solved, const Tensor& grad_y, const Argument& x,
                                     const PerLam<Argument>& lams) {
  Wanted wanted = {.x = x.needs_gradient};
  const PerLam<std::int64_t> dims = solved.maps().lam_dims();
  for (std::size_t i = 0; i < kMostLams; ++i) {
    wanted.lams[i] = lams[i].needs_gradient;
    wanted.lam_sizes[i] = lams[i].size_along(dims[i], grad_y.dim());
  }
  const variable_list pulled = PullBack::apply(grad_y, solved, wanted);
  variable_list gradients = {x.sum(pulled[0]), lams[0].sum(pulled[1]), Tensor()};
  if (pulled.size() > kMostLams) gradients[2] = lams[1].sum(pulled[2]);
  return gradients;
}

variable_list gradients_of_arguments(AutogradContext& context, const Tensor& grad_y,
                                     std::initializer_list<std::string> names) {
  std::vector<Argument> arguments = Argument::load(context, names);
  arguments.resize(1 + kMostLams);
  return gradients_of_arguments(Solved::load(context), grad_y, arguments[0],
                                {arguments[1], arguments[2]});
}

}  // namespace tautstring::libtorch
