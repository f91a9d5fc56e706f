// The 2D total variation proximity operator on LibTorch tensors, with autograd. For every image of
// x independently:
//
//   Y = argmin_Y  1/2 |Y - X|^2  +  sum over edges along rows     lam_rows_e |difference of Y|
//                                +  sum over edges along columns  lam_cols_e |difference of Y|
//
// The arguments mean the same as in tautstring/tv2d.h and in Python. Invalid arguments throw
// c10::ValueError, which names the argument.
#pragma once

#include <torch/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "tautstring/export.h"
#include "tautstring/tv2d.h"

namespace tautstring {

/// The penalties along rows and along columns: numbers or tensors. One for both is a number, or a
/// tensor that broadcasts to x with size 1 along both dims. Those of a pair may also have one
/// element per edge: they broadcast to (..., H, W - 1) and (..., H - 1, W).
class ImageLams {
 public:
  // NOLINTBEGIN(google-explicit-constructor): callers pass a number, a tensor, or two in braces
  ImageLams(double lam) : numbers_{lam, lam}, is_pair_(false) {}
  ImageLams(const torch::Tensor& lam) : tensors_{lam, lam}, is_pair_(false) {}
  ImageLams(double lam_rows, double lam_cols) : numbers_{lam_rows, lam_cols} {}
  ImageLams(torch::Tensor lam_rows, torch::Tensor lam_cols)
      : tensors_{std::move(lam_rows), std::move(lam_cols)} {}
  // NOLINTEND(google-explicit-constructor)

  /// Along rows, along columns; undefined if they are numbers.
  [[nodiscard]] const std::array<torch::Tensor, 2>& tensors() const { return tensors_; }
  [[nodiscard]] const std::array<double, 2>& numbers() const { return numbers_; }
  [[nodiscard]] bool is_pair() const { return is_pair_; }

 private:
  std::array<torch::Tensor, 2> tensors_;
  std::array<double, 2> numbers_ = {};
  bool is_pair_ = true;
};

struct ProxTv2dOptions {
  std::array<std::int64_t, 2> dims = {-2, -1};  // an image's height and width
  Mode mode = Mode::smooth;
  /// Not given: accelerated with tol, else dykstra.
  std::optional<Method2d> method = {};
  /// Two passes each; with tol, at most. Not given: 4 for dykstra, 16 for accelerated, 128 with
  /// tol.
  std::optional<std::int64_t> iterations = {};
  /// Each image stops once its duality gap is at most tol times its objective, before the result
  /// is rounded to its dtype. If an image on the CPU does not reach it, torch warns once per
  /// process. On CUDA the check would wait for the device; see ProxTv2dInfo::converged instead.
  std::optional<double> tol = {};
  /// Python's grad. Not given: implicit with tol, else unrolled.
  std::optional<Derivative2d> derivative = {};
  /// The dual of an earlier call on similar images, to start from: a constant.
  torch::Tensor start = {};
};

/// How the iterations of each image ended. Has no gradients.
struct ProxTv2dInfo {
  torch::Tensor iterations;  // int32
  torch::Tensor gap;         // float64: upper bound on how far the objective is from the optimum
  /// bool: whether the gap is at most tol times the objective; without tol, at most 1e-4 times, or
  /// 1e-6 for a float64 x.
  torch::Tensor converged;
  torch::Tensor dual;  // of x's shape: ProxTv2dOptions::start for a later call
};

/// Smooths (or sharpens) the images of x: a floating tensor of two dimensions or more, of any
/// strides, on the CPU or on CUDA. The result has x's shape and dtype.
///
/// Differentiable twice with respect to x and lam. For that, 4 bits per pixel and iteration
/// (unrolled) or 4 bits per pixel (implicit) are kept, or nothing if no argument requires a
/// gradient. Forward AD and vmap are available from Python only and throw here.
TAUTSTRING_API torch::Tensor prox_tv2d(const torch::Tensor& x, const ImageLams& lam,
                                       const ProxTv2dOptions& options = {});

/// The same, and reports how the iterations ended.
TAUTSTRING_API std::pair<torch::Tensor, ProxTv2dInfo> prox_tv2d_with_info(
    const torch::Tensor& x, const ImageLams& lam, const ProxTv2dOptions& options = {});

struct Gap2dOptions {
  std::array<std::int64_t, 2> dims = {-2, -1};  // an image's height and width
  /// ProxTv2dInfo::dual of a call on this x and lam, or anything else: the better it is, the
  /// smaller the gap. Not given: it is computed.
  torch::Tensor dual = {};
};

/// An upper bound on how far the objective at y, of x's shape, is from the optimum: float64, one
/// number per image, on the CPU and on CUDA. It has no gradient; requesting one throws.
TAUTSTRING_API torch::Tensor gap2d(const torch::Tensor& x, const torch::Tensor& y,
                                   const ImageLams& lam, const Gap2dOptions& options = {});

}  // namespace tautstring
