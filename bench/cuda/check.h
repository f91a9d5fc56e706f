// Checks the GPU's results: some rows against the CPU's solution in float64, which is proved
// optimal, and gradients against the CPU's from the GPU's own partition.
#pragma once

#include <cstdint>

#include "cases.h"

namespace bench {

/// The arrays of a forward call, on the GPU.
template <class T>
struct ForwardArrays {
  const T* x = nullptr;
  const T* y = nullptr;
  const T* lam = nullptr;  // null: a number
};

/// The arrays of a backward call, on the GPU; one grad_lam per row.
template <class T>
struct BackwardArrays {
  const std::uint32_t* partition = nullptr;
  const T* grad_y = nullptr;
  const T* grad_x = nullptr;
  const T* grad_lam = nullptr;
};

/// Returns the largest difference as a fraction of a row's range. Throws std::runtime_error if it
/// is more than the dtype allows.
template <class T>
[[nodiscard]] double check_forward(const Case& c, const ForwardArrays<T>& arrays);

template <class T>
[[nodiscard]] double check_backward(const Case& c, const BackwardArrays<T>& arrays);

}  // namespace bench
