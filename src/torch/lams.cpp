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

LamGradient::LamGradient(bool is_wanted, const Tensor& grad_y, std::int64_t dim, std::int64_t size,
                         ScalarType x_dtype)
    : is_wanted_(is_wanted),
      terms_(is_wanted ? make_tensor(shape_with_size(grad_y, dim, size), arithmetic_dtype(x_dtype),
                                     grad_y)
                       : make_nothing(grad_y)) {}

View LamGradient::view(const char* name) const {
  return is_wanted_ ? output_view_of(name, terms_) : View{};
}

/// Sums in float64, since a lambda may be shared by millions of rows.
Tensor LamGradient::share(const std::vector<std::int64_t>& shared_dims, ScalarType dtype) const {
  if (!is_wanted_) return terms_;
  const auto has_many = [&](std::int64_t dim) { return terms_.size(dim) != 1; };
  if (std::none_of(shared_dims.begin(), shared_dims.end(), has_many)) {
    return terms_.scalar_type() == dtype ? terms_ : torch::stable::to(terms_, dtype);
  }
  Tensor sum = torch::stable::sum(terms_, shared_dims, /*keepdim=*/true, ScalarType::Double);
  return dtype == ScalarType::Double ? sum : torch::stable::to(sum, dtype);
}

}  // namespace tautstring::torch_ops
