// What the ops of 1D and of 2D share: lam as the core takes it, and its gradient as it is shared
// out.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <vector>

#include "tautstring/tv1d.h"
#include "tensors.h"

namespace tautstring::torch_ops {

Mode mode_of(bool sharpen);

/// The dtype that samples of `dtype` are computed in.
ScalarType arithmetic_dtype(ScalarType dtype);

/// lam as the core takes it. A tensor without dimensions on the CPU is read here
/// beside an x on CUDA: it travels with the launch, without a copy of its own.
Lam lam_of(const char* name, const Tensor& x, const Tensor& lam);

/// The gradient of lam while a call makes it. Made as one number a line or an edge, in the
/// arithmetic's dtype: x's shape, but for `size` along `dim`; given as a lam that several lines
/// share has it: summed over `shared_dims`, in `dtype`. Empty where it is not wanted.
class LamGradient {
 public:
  LamGradient(bool is_wanted, const Tensor& grad_y, std::int64_t dim, std::int64_t size,
              ScalarType x_dtype);

  /// Where the core writes it; a view not given where it is not wanted.
  [[nodiscard]] View view(const char* name) const;

  [[nodiscard]] Tensor share(const std::vector<std::int64_t>& shared_dims, ScalarType dtype) const;

 private:
  bool is_wanted_;
  Tensor terms_;
};

}  // namespace tautstring::torch_ops
