#include "libtorch/rows.h"

#include <algorithm>
#include <optional>

#include "libtorch/arguments.h"
#include "libtorch/calls.h"
#include "torch/tv1d.h"

namespace tautstring::libtorch {

variable_list Rows::pull_back(const variable_list& saved, const Tensor& grad_y,
                              const Wanted& wanted, at::ScalarType dtype) const {
  return call([&] {
    const auto [grad_x, grad_lam] = torch_ops::backward1d(
        to_stable("grad_y", grad_y), to_stable("partition", saved[0]), dim_, sharpen_, dtype,
        wanted.lam_sizes[0], {}, arithmetic_dtype(dtype), wanted.x, wanted.lams[0]);
    return variable_list{from_stable(grad_x), from_stable(grad_lam)};
  });
}

Tensor Rows::push_forward(const variable_list& saved, const Tensor& tangent_x,
                          const PerLam<Tensor>& tangent_lams, at::ScalarType dtype) const {
  return call([&] {
    return from_stable(torch_ops::jvp1d(
        to_stable("partition", saved[0]), std::nullopt, std::nullopt, std::nullopt,
        to_optional("tangent_x", tangent_x), to_optional("tangent_lam", tangent_lams[0]),
        std::nullopt, dim_, sharpen_, n_, dtype));
  });
}

variable_list Rows::weighted_pull_back(const variable_list& saved, const Tensor& grad_y,
                                       const Wanted& wanted, bool wants_weight) const {
  return call([&] {
    const at::ScalarType dtype = saved[1].scalar_type();
    const auto [grad_x, grad_lam, grad_weight] = torch_ops::weighted_backward1d(
        to_stable("grad_y", grad_y), to_stable("partition", saved[0]), to_stable("x", saved[1]),
        to_stable("y", saved[2]), to_stable("weight", saved[3]), dim_, sharpen_,
        wanted.lam_sizes[0], {}, arithmetic_dtype(dtype), wanted.x, wanted.lams[0], wants_weight);
    return variable_list{from_stable(grad_x), from_stable(grad_lam), from_stable(grad_weight)};
  });
}

std::int64_t require_rows(const char* function, const Tensor& x,
                          std::initializer_list<std::pair<const char*, Tensor>> broadcast,
                          Mode mode, std::int64_t dim) {
  TORCH_CHECK_VALUE(x.defined(), "x: must be defined");
  require_tensor(function, "x", x);
  for (const auto& [name, tensor] : broadcast) require_tensor(function, name, tensor);
  require_known(mode);
  const std::int64_t dims = std::max<std::int64_t>(x.dim(), 1);
  TORCH_CHECK_VALUE(dim >= -dims && dim < dims, "dim: must be from ", -dims, " to ", dims - 1,
                    " for this x, got ", dim);
  for (const auto& [name, tensor] : broadcast) {
    TORCH_CHECK_VALUE(!tensor.defined() || tensor.dim() <= x.dim(), name,
                      ": must not have more dimensions than x, got ", tensor.dim());
  }
  return dim < 0 ? dim + dims : dim;
}

}  // namespace tautstring::libtorch
