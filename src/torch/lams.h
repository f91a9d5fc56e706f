// Code shared by the 1D and 2D ops: lam as the core takes it, and the gradient of a shared lam.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <vector>

#include "tautstring/tv1d.h"
#include "tensors.h"

namespace tautstring::torch_ops {

Mode mode_of(bool sharpen);

/// The dtype of the arithmetic on samples of `dtype`.
ScalarType arithmetic_dtype(ScalarType dtype);

/// lam as the core takes it. A CPU tensor without dimensions is read here even if x is on CUDA: its
/// value is passed with the launch, without a separate copy.
Lam lam_of(const char* name, const Tensor& x, const Tensor& lam);

/// The gradient of lam while a call computes it. The core computes one number per line or edge, in
/// the dtype of the arithmetic: x's shape except for `size` along `dim`. The result is the gradient
/// of a lam that several lines share: summed over `shared_dims`, in `dtype`. Empty if it is not
/// wanted.
class LamGradient {
 public:
  LamGradient(bool is_wanted, const Tensor& grad_y, std::int64_t dim, std::int64_t size,
              ScalarType x_dtype);

  /// Where the core writes it; a view that is not given if it is not wanted.
  [[nodiscard]] View view(const char* name) const;

  [[nodiscard]] Tensor share(const std::vector<std::int64_t>& shared_dims, ScalarType dtype) const;

 private:
  bool is_wanted_;
  Tensor terms_;
};

}  // namespace tautstring::torch_ops
