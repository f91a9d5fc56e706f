// Argument checks shared by the functions and the layer, for arguments that src/torch never sees.
#pragma once

#include <c10/util/Exception.h>
#include <torch/types.h>

#include <climits>
#include <cmath>
#include <cstdint>
#include <optional>

#include "tautstring/newton1d.h"
#include "tautstring/tv2d.h"

namespace tautstring::libtorch {

inline void require_known(Mode mode) {
  TORCH_CHECK_VALUE(mode == Mode::smooth || mode == Mode::sharp,
                    "mode: must be Mode::smooth or Mode::sharp, got Mode(", static_cast<int>(mode),
                    ")");
}

inline void require_floating(const char* name, const at::Tensor& tensor) {
  if (!tensor.defined()) return;
  const at::ScalarType type = tensor.scalar_type();
  TORCH_CHECK_VALUE(
      type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16, name,
      ": dtype must be float16, bfloat16, float32 or float64, got ", type);
}

inline void require_known(Method2d method) {
  TORCH_CHECK_VALUE(method == Method2d::dykstra || method == Method2d::accelerated,
                    "method: must be Method2d::dykstra or Method2d::accelerated, got Method2d(",
                    static_cast<int>(method), ")");
}

inline void require_known(Derivative2d derivative) {
  TORCH_CHECK_VALUE(derivative == Derivative2d::unrolled || derivative == Derivative2d::implicit,
                    "derivative: must be Derivative2d::unrolled or Derivative2d::implicit, got "
                    "Derivative2d(",
                    static_cast<int>(derivative), ")");
}

inline void require_known(LineSearch line_search) {
  TORCH_CHECK_VALUE(
      line_search == LineSearch::interpolation || line_search == LineSearch::halving,
      "line_search: must be LineSearch::interpolation or LineSearch::halving, got LineSearch(",
      static_cast<int>(line_search), ")");
}

/// Checks the iteration options, if given.
inline void require_solver(std::optional<std::int64_t> iterations, std::optional<double> tol) {
  TORCH_CHECK_VALUE(!iterations || (*iterations >= 1 && *iterations <= INT_MAX),
                    "iterations: must be from 1 to ", INT_MAX, ", got ", iterations.value_or(0));
  TORCH_CHECK_VALUE(!tol || (*tol > 0 && std::isfinite(*tol)), "tol: must be > 0 and finite, got ",
                    tol.value_or(0));
}

/// Without this check a dual tensor would silently lose its tangent: torch's C++ functions have no
/// forward derivative, and are not called for one if no gradient is recorded.
inline void refuse_tangent(const char* function, const char* name, const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.defined() || !tensor._fw_grad(/*level=*/0).defined(), name,
                              ": must have no tangent, since ", function,
                              " has no forward derivative in C++, only in Python");
}

/// Checks a tensor: undefined, or of a dtype that the core supports and without a tangent.
inline void require_tensor(const char* function, const char* name, const at::Tensor& tensor) {
  require_floating(name, tensor);
  refuse_tangent(function, name, tensor);
}

inline bool needs_gradient(const at::Tensor& tensor) {
  return tensor.defined() && tensor.requires_grad();
}

}  // namespace tautstring::libtorch
