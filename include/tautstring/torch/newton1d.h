// The operator of tautstring/torch/tv1d.h by the paper's own solver, projected Newton on the dual
// problem, as tautstring/newton1d.h has it. Errors in arguments are c10::ValueError and name the
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
  /// The dual of an earlier call on similar rows, to start from: a constant.
  torch::Tensor start = {};
};

/// How the iterations of each row ended, as in NewtonResults1d; nothing of it has a gradient.
struct ProxTv1dNewtonInfo {
  torch::Tensor iterations;  // int32
  torch::Tensor gap;         // float64: bounds how far the returned row is from the optimum
  /// bool: whether the iterations came to their end by themselves and, with a tolerance, that gap
  /// is within it.
  torch::Tensor converged;
  /// float64, of x's shape but for n - 1 along dim: what ProxTv1dNewtonOptions::start of a later
  /// call takes.
  torch::Tensor dual;
};

/// Smooths (or sharpens) the rows of x, as prox_tv1d does, without data weights. Differentiable
/// twice with respect to x and lam, and as there 2 bits an element are kept for that. Forward AD
/// and vmap are Python's alone, and errors here.
TAUTSTRING_API torch::Tensor prox_tv1d_newton(const torch::Tensor& x, const torch::Tensor& lam,
                                              const ProxTv1dNewtonOptions& options = {});
TAUTSTRING_API torch::Tensor prox_tv1d_newton(const torch::Tensor& x, double lam,
                                              const ProxTv1dNewtonOptions& options = {});

/// The same, and how the iterations ended.
TAUTSTRING_API std::pair<torch::Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const torch::Tensor& x, const torch::Tensor& lam, const ProxTv1dNewtonOptions& options = {});
TAUTSTRING_API std::pair<torch::Tensor, ProxTv1dNewtonInfo> prox_tv1d_newton_with_info(
    const torch::Tensor& x, double lam, const ProxTv1dNewtonOptions& options = {});

}  // namespace tautstring
