// The operator of tautstring/torch/tv1d.h by the paper's own solver, projected Newton on the dual
// problem, as in tautstring/newton1d.h. A bad argument throws c10::ValueError, which names the
// argument.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <utility>

#include "tautstring/export.h"
#include "tautstring/newton1d.h"

namespace tautstring {

struct ProxTv1dNewtonOptions {
  std::int64_t dim = -1;  // the dimension that the rows run along
  Mode mode = Mode::smooth;
  /// As in Newton1d.
  std::int64_t iterations = 100;
  double tol = 0;
  LineSearch line_search = LineSearch::interpolation;
  bool polish = true;
  /// The dual of an earlier call on similar rows, to start from; treated as a constant.
  torch::Tensor start = {};
};

/// How the iterations of each row ended, as in NewtonResults1d; none of it has a gradient.
struct ProxTv1dNewtonInfo {
  torch::Tensor iterations;  // int32
  torch::Tensor gap;         // float64: upper bound on how far the objective at the returned row is
                             // from the optimum
  /// bool: whether the iterations ended by themselves and, with a tolerance, the gap is within it.
  torch::Tensor converged;
  /// float64, of x's shape except for n - 1 along dim; pass it as ProxTv1dNewtonOptions::start to a
  /// later call.
  torch::Tensor dual;
};

/// Smooths (or sharpens) the rows of x, as prox_tv1d does, without data weights. Differentiable
/// twice with respect to x and lam, for which 2 bits per element are kept, as in prox_tv1d. Forward
/// AD and vmap are available from Python only and throw here.
TAUTSTRING_API torch::Tensor prox_tv1d_newton(const torch::Tensor& x, const torch::Tensor& lam,
                                              const ProxTv1dNewtonOptions& options = {});
TAUTSTRING_API torch::Tensor prox_tv1d_newton(const torch::Tensor& x, double lam,
                                              const ProxTv1dNewtonOptions& options = {});

/// The same, with information on how the iterations ended.
TAUTSTRING_API std::pair<torch::Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const torch::Tensor& x, const torch::Tensor& lam, const ProxTv1dNewtonOptions& options = {});
TAUTSTRING_API std::pair<torch::Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const torch::Tensor& x, double lam, const ProxTv1dNewtonOptions& options = {});

}  // namespace tautstring
