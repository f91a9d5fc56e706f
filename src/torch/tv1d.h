// The 1D ops. Each makes views of its tensors, allocates its results and calls the core function of
// the same name; their schemas are in ops.cpp.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace tautstring::torch_ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// The solution and its partition (make_partition of tensors.h).
std::tuple<Tensor, Tensor> solve1d(const Tensor& x, const Tensor& lam,
                                   const std::optional<Tensor>& weight, std::int64_t dim,
                                   bool sharpen, bool keep_partition);
std::tuple<Tensor, Tensor> solve1d_number(const Tensor& x, double lam,
                                          const std::optional<Tensor>& weight, std::int64_t dim,
                                          bool sharpen, bool keep_partition);

/// The gradients of x (in `x_dtype`) and of lam (in `lam_dtype`; x's shape except for `lam_size`
/// along dim and 1 along `lam_shared_dims`, over which it is summed in float64), without data
/// weights. A gradient that is not wanted is empty.
std::tuple<Tensor, Tensor> backward1d(const Tensor& grad_y, const Tensor& partition,
                                      std::int64_t dim, bool sharpen, ScalarType x_dtype,
                                      std::int64_t lam_size,
                                      const std::vector<std::int64_t>& lam_shared_dims,
                                      ScalarType lam_dtype, bool wants_x, bool wants_lam);

/// The same with data weights, and their gradient (in the dtype of the arithmetic; x's shape).
std::tuple<Tensor, Tensor, Tensor> weighted_backward1d(
    const Tensor& grad_y, const Tensor& partition, const Tensor& x, const Tensor& y,
    const Tensor& weight, std::int64_t dim, bool sharpen, std::int64_t lam_size,
    const std::vector<std::int64_t>& lam_shared_dims, ScalarType lam_dtype, bool wants_x,
    bool wants_lam, bool wants_weight);

/// The forward derivative, of n elements along dim.
Tensor jvp1d(const Tensor& partition, const std::optional<Tensor>& x,
             const std::optional<Tensor>& y, const std::optional<Tensor>& weight,
             const std::optional<Tensor>& tangent_x, const std::optional<Tensor>& tangent_lam,
             const std::optional<Tensor>& tangent_weight, std::int64_t dim, bool sharpen,
             std::int64_t n, ScalarType dtype);

/// One number per row: x's shape except for size 1 along dim.
Tensor certify1d(const Tensor& x, const Tensor& y, const Tensor& lam,
                 const std::optional<Tensor>& weight, std::int64_t dim);
Tensor certify1d_number(const Tensor& x, const Tensor& y, double lam,
                        const std::optional<Tensor>& weight, std::int64_t dim);
Tensor find_lam_max(const Tensor& x, const std::optional<Tensor>& weight, std::int64_t dim);

/// One number per edge, in the dtype of the arithmetic. On the CPU only.
Tensor find_path1d(const Tensor& x, const std::optional<Tensor>& weight, std::int64_t dim);

}  // namespace tautstring::torch_ops
