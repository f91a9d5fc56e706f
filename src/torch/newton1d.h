// The op of the Newton solver, in the style of tv1d.h; its derivatives are the ops there.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace tautstring::torch_ops {

using torch::stable::Tensor;

/// y, partition, done, gap, converged, dual.
///
/// y and partition are as in solve1d. The others are empty unless `report` is set. `done` (the
/// iterations), `gap` and `converged` have the shape of x's batch; `dual` (float64, like all of the
/// arithmetic) has x's shape except for n - 1 along dim.
using NewtonSolution1d = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

NewtonSolution1d newton1d(const Tensor& x, const Tensor& lam, const std::optional<Tensor>& start,
                          std::int64_t dim, bool sharpen, std::int64_t iterations, double tol,
                          bool halving, bool polish, bool keep_partition, bool report);
NewtonSolution1d newton1d_number(const Tensor& x, double lam, const std::optional<Tensor>& start,
                                 std::int64_t dim, bool sharpen, std::int64_t iterations,
                                 double tol, bool halving, bool polish, bool keep_partition,
                                 bool report);

}  // namespace tautstring::torch_ops
