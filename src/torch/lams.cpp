#include "lams.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>

namespace tautstring::torch_ops {

Mode mode_of(bool sharpen) {
  return sharpen ? Mode::sharp : Mode::smooth;
}

ScalarType arithmetic_dtype(ScalarType dtype) {
  return dtype == ScalarType::Double ? ScalarType::Double : ScalarType::Float;
}

Lam lam_of(const char* name, const Tensor& x, const Tensor& lam) {
  if (x.is_cuda() && lam.is_cpu() && lam.dim() == 0) return value_at(view_of(name, lam), 0);
  require_device_of("x", x, name, lam);
  return view_of(name, lam);
}

LamGradient::LamGradient(bool is_wanted, const SharedLam& lam, const Tensor& grad_y,
                         ScalarType x_dtype)
    : is_wanted_(is_wanted),
      lam_(lam),
      is_shared_(std::any_of(lam.shared_dims.begin(), lam.shared_dims.end(),
                             [&](std::int64_t dim) { return grad_y.size(dim) != 1; })),
      core_sums_(is_shared_ && lam.size == 1 && grad_y.is_cpu()) {
  std::vector<std::int64_t> shape = shape_with_size(grad_y, lam.dim, lam.size);
  if (core_sums_) {
    for (const std::int64_t dim : lam.shared_dims) shape[static_cast<std::size_t>(dim)] = 1;
  }
  const ScalarType dtype = core_sums_ ? lam.dtype : arithmetic_dtype(x_dtype);
  terms_ = is_wanted ? make_tensor(shape, dtype, grad_y) : make_nothing(grad_y);
}

View LamGradient::view(const char* name) const {
  return is_wanted_ ? output_view_of(name, terms_) : View{};
}

/// Sums in float64, since a lambda may be shared by millions of lines.
Tensor LamGradient::take() const {
  if (!is_wanted_) return terms_;
  Tensor gradient = terms_;
  if (is_shared_ && !core_sums_) {
    gradient = torch::stable::sum(terms_, lam_.shared_dims, /*keepdim=*/true, ScalarType::Double);
  }
  return gradient.scalar_type() == lam_.dtype ? gradient : torch::stable::to(gradient, lam_.dtype);
}

}  // namespace tautstring::torch_ops
