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

/// A lam of the forward call: its size along the lines, and the dimensions along which all lines
/// have the same.
struct SharedLam {
  std::int64_t dim;
  std::int64_t size;
  const std::vector<std::int64_t>& shared_dims;
  ScalarType dtype;
};

/// The gradient of a lam while a call computes it; empty if it is not wanted. Where several lines
/// share a lam, the core sums over them if it can, else the op.
class LamGradient {
 public:
  LamGradient(bool is_wanted, const SharedLam& lam, const Tensor& grad_y, ScalarType x_dtype);

  /// Where the core writes it; a view that is not given if it is not wanted.
  [[nodiscard]] View view(const char* name) const;

  /// The gradient in the lam's dtype, with size 1 along its shared dimensions.
  [[nodiscard]] Tensor take() const;

 private:
  bool is_wanted_;
  SharedLam lam_;
  bool is_shared_;  // by more than one line
  bool core_sums_;  // over all lines that share it
  Tensor terms_;
};

}  // namespace tautstring::torch_ops
