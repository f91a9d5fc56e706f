// Backward of rows without data weights. See agent/agent_backward.cuh for mapping,
// traffic and shared memory. Block (b, t) has tile t of its rows.
#pragma once

#include "cuda/agent/agent_backward.cuh"

namespace tautline::detail {

template <class Storage, bool kAlongMemory>
__global__ void __launch_bounds__(most_backward_threads(sizeof(ArithmeticOf<Storage>),
                                                        kAlongMemory))
    kernel_backward(const __grid_constant__ BackwardRows<Storage> call) {
  extern __shared__ __align__(128) char shared[];
  AgentBackward<Storage, kAlongMemory> agent(call, shared);
  const std::int64_t step = std::int64_t{gridDim.x} * call.shape.rows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * call.shape.rows; row < call.count;
       row += step) {
    agent.run(row, static_cast<std::int32_t>(blockIdx.y));
    __syncthreads();
  }
}

template <class Storage, bool kAlongMemory>
__global__ void __launch_bounds__(most_backward_threads(sizeof(ArithmeticOf<Storage>),
                                                        kAlongMemory))
    kernel_sum_tiles(const __grid_constant__ BackwardRows<Storage> call) {
  extern __shared__ __align__(128) char shared[];
  AgentBackward<Storage, kAlongMemory> agent(call, shared);
  const std::int64_t step = std::int64_t{gridDim.x} * call.shape.rows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * call.shape.rows; row < call.count;
       row += step) {
    agent.sum_tile(row, static_cast<std::int32_t>(blockIdx.y));
    __syncthreads();
  }
}

/// The gradient of lam that is one a row, from those of its tiles.
template <class Storage>
__global__ void kernel_sum_grad_lam(const __grid_constant__ BackwardRows<Storage> call) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int32_t tiles = call.tile_count();
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < call.count;
       row += step) {
    double sum = 0;
    for (std::int32_t t = 0; t < tiles; ++t) sum += call.tiles[row * tiles + t].grad_lam;
    store_grad_lam(call, call.lam.offset(row), sum);
  }
}

}  // namespace tautline::detail
