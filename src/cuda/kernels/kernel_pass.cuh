// Runs after a pass over images that could not write the input of the next pass itself. Traffic:
// four arrays once.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"

namespace tautstring::detail {

/// All arrays are packed in the same way; `y` has the solutions.
template <class T>
__global__ void kernel_to_next_input(std::int64_t count, ImagePass<T> pass, const T* x, T* y) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (pass.of_columns) {
      const T q = to_q(x[i], y[i]);
      pass.q[i] = q;
      y[i] = pass.whole[i] - q;
    } else {
      y[i] = to_columns(y[i], pass.q[i]);
    }
  }
}

}  // namespace tautstring::detail
