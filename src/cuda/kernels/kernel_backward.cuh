// Backward of rows without data weights. agent/agent_backward.cuh describes the mapping, the memory
// traffic and the shared memory. A block handles several rows, or one tile of a row.
#pragma once

#include "cuda/agent/agent_backward.cuh"

namespace tautstring::detail {

/// `Call` is a BackwardRows.
template <class Call, BackwardAccess kAccess, BackwardSpan kSpan, BackwardTask kTask>
__global__ void __launch_bounds__(
    most_backward_threads(sizeof(ArithmeticOf<typename Call::Storage>), kAccess),
    least_backward_blocks(sizeof(ArithmeticOf<typename Call::Storage>), kAccess))
    kernel_backward(const __grid_constant__ Call call) {
  extern __shared__ __align__(128) char shared[];
  AgentBackward<Call, kAccess, kSpan> agent(call, shared);
  if constexpr (kTask == BackwardTask::tile_sums) {
    agent.sum_tile();
  } else {
    agent.template run<kTask == BackwardTask::gradients_with_edges>();
  }
}

/// The gradient of a per-row lam, summed over the tiles of the row.
template <class Call>
__global__ void kernel_sum_grad_lam(const __grid_constant__ Call call) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < call.count;
       row += step) {
    double sum = 0;
    for (std::int32_t t = 0; t < call.tile_count; ++t) {
      sum += call.tiles[row * call.tile_count + t].grad_lam;
    }
    store_grad_lam(call, call.lam.offset(row), sum);
  }
}

}  // namespace tautstring::detail
