// The 1D total variation proximity operator on LibTorch tensors, with autograd. For every row of x
// along `dim` independently:
//
//   y = argmin_y  1/2 sum_i weight_i (y_i - x_i)^2  +  sum_i lam_i |y_{i+1} - y_i|
//
// The arguments have the same meaning as in tautstring/tv1d.h and in Python. A bad argument throws
// c10::ValueError, which names the argument.
#pragma once

#include <torch/types.h>

#include <cstdint>

#include "tautstring/export.h"
#include "tautstring/tv1d.h"

namespace tautstring {

struct ProxTv1dOptions {
  std::int64_t dim = -1;      // the dimension that the rows run along
  torch::Tensor weight = {};  // data weights, broadcasting to x; undefined: all 1
  Mode mode = Mode::smooth;
};

/// Smooths (or sharpens) the rows of x: a floating tensor of any shape and strides, on the CPU or
/// on CUDA. The result has x's shape and dtype. `lam` is a number, or a tensor that broadcasts to x
/// and whose size along dim is 1 (one per row) or n - 1 (one per edge). x has at most 32
/// dimensions. Above 9, at most 8 batch dimensions may be left after folding those that all
/// arguments step through evenly, as contiguous tensors do.
///
/// Differentiable with respect to x, lam and weight, and twice without weight. For that, 2 bits per
/// element are kept (with weight also x, y and weight), or nothing if no argument requires a
/// gradient. Forward AD and vmap are available from Python only and throw here.
TAUTSTRING_API torch::Tensor prox_tv1d(const torch::Tensor& x, const torch::Tensor& lam,
                                       const ProxTv1dOptions& options = {});
TAUTSTRING_API torch::Tensor prox_tv1d(const torch::Tensor& x, double lam,
                                       const ProxTv1dOptions& options = {});

}  // namespace tautstring
