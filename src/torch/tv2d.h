// The 2D ops. Each makes views of its tensors, allocates its results and calls the function of the
// core that has its name; ops.cpp has their schemas.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

namespace tautstring::torch_ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// y, partitions, momentum, done, gap, objective, converged, dual.
///
/// `partitions` has the shape of x's batch, then the number of bytes of an image in all saved
/// iterations; but the core mixes the bytes of different images. python/tautstring/_vmap.py takes
/// them apart. `momentum` has the shape of x's batch, then one element per iteration. Both are
/// empty if they are not kept; the momentum also if implicit. `done`, the iterations of each image,
/// is always there. `gap`, `objective`, `converged` and `dual` (in the arithmetic's dtype) are
/// empty unless `report` requests them.
using Solution2d = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

Solution2d solve2d(const Tensor& x, const Tensor& lam_rows, const Tensor& lam_cols,
                   const std::optional<Tensor>& start, std::int64_t height_dim,
                   std::int64_t width_dim, bool sharpen, bool accelerated, std::int64_t iterations,
                   double tol, bool implicit, bool keep_partitions, bool report);
Solution2d solve2d_number(const Tensor& x, double lam_rows, double lam_cols,
                          const std::optional<Tensor>& start, std::int64_t height_dim,
                          std::int64_t width_dim, bool sharpen, bool accelerated,
                          std::int64_t iterations, double tol, bool implicit, bool keep_partitions,
                          bool report);

/// The gradients of x (in `x_dtype`) and of the lams, each summed as in backward1d. A gradient that
/// is not wanted is empty.
std::tuple<Tensor, Tensor, Tensor> backward2d(
    const Tensor& grad_y, const Tensor& partitions, const Tensor& momentum, const Tensor& done,
    std::int64_t height_dim, std::int64_t width_dim, bool sharpen, std::int64_t iterations,
    bool implicit, ScalarType x_dtype, std::int64_t lam_rows_size,
    const std::vector<std::int64_t>& lam_rows_shared_dims, ScalarType lam_rows_dtype,
    std::int64_t lam_cols_size, const std::vector<std::int64_t>& lam_cols_shared_dims,
    ScalarType lam_cols_dtype, bool wants_x, bool wants_lam_rows, bool wants_lam_cols);

/// The forward derivative, of images of the given size.
Tensor jvp2d(const Tensor& partitions, const Tensor& momentum, const Tensor& done,
             const std::optional<Tensor>& tangent_x, const std::optional<Tensor>& tangent_lam_rows,
             const std::optional<Tensor>& tangent_lam_cols, std::int64_t height_dim,
             std::int64_t width_dim, bool sharpen, std::int64_t iterations, bool implicit,
             std::int64_t height, std::int64_t width, ScalarType dtype);

/// An upper bound on how far the objective at y is from the optimum: float64, with the shape of x's
/// batch.
Tensor find_gap2d(const Tensor& x, const Tensor& y, const Tensor& lam_rows, const Tensor& lam_cols,
                  const std::optional<Tensor>& dual, std::int64_t height_dim,
                  std::int64_t width_dim);
Tensor find_gap2d_number(const Tensor& x, const Tensor& y, double lam_rows, double lam_cols,
                         const std::optional<Tensor>& dual, std::int64_t height_dim,
                         std::int64_t width_dim);

}  // namespace tautstring::torch_ops
