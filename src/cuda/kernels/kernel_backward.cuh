// Backward of rows without data weights. See agent/agent_backward.cuh and
// agent/agent_backward_across.cuh for mapping, traffic and shared memory.
#pragma once

#include "cuda/agent/agent_backward.cuh"
#include "cuda/agent/agent_backward_across.cuh"

namespace tautline::detail {

/// Rows along memory that share warps.
template <class Storage>
__global__ void __launch_bounds__(32 * kSharedWarps)
    kernel_backward_warps(const __grid_constant__ BackwardRows<Storage> call) {
  extern __shared__ __align__(128) char shared[];
  AgentBackward<Storage, false> agent(call, shared, nullptr);
  const int rows_per_warp = 32 / ((call.n + kWordElements - 1) / kWordElements);
  const std::int64_t warps = (call.count + rows_per_warp - 1) / rows_per_warp;
  const std::int64_t step = std::int64_t{gridDim.x} * kSharedWarps;
  for (std::int64_t warp = std::int64_t{blockIdx.x} * kSharedWarps + threadIdx.x / 32;
       warp < warps; warp += step) {
    agent.run_warp(warp);
    __syncwarp();
  }
}

/// Rows along memory in blocks, and tiles of longer ones (blockIdx.y).
template <class Storage>
__global__ void __launch_bounds__(kBackwardTile / kWordElements)
    kernel_backward_blocks(const __grid_constant__ BackwardRows<Storage> call) {
  extern __shared__ __align__(128) char shared[];
  __shared__ typename AgentBackward<Storage, true>::Shared of_warps;
  AgentBackward<Storage, true> agent(call, shared, &of_warps);
  for (std::int64_t row = blockIdx.x; row < call.count; row += gridDim.x) {
    agent.run_block(row, static_cast<std::int32_t>(blockIdx.y));
    __syncthreads();
  }
}

template <class Storage>
__global__ void __launch_bounds__(kBackwardTile / kWordElements)
    kernel_sum_tiles(const __grid_constant__ BackwardRows<Storage> call) {
  extern __shared__ __align__(128) char shared[];
  AgentBackward<Storage, true> agent(call, shared, nullptr);
  for (std::int64_t row = blockIdx.x; row < call.count; row += gridDim.x) {
    agent.sum_tile(row, static_cast<std::int32_t>(blockIdx.y));
    __syncthreads();
  }
}

/// The gradient of lam that is one a row, from those of its tiles.
template <class Storage>
__global__ void kernel_sum_grad_lam(const __grid_constant__ BackwardRows<Storage> call) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  const std::int32_t tiles = (call.n + kBackwardTile - 1) / kBackwardTile;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < call.count;
       row += step) {
    double sum = 0;
    for (std::int32_t t = 0; t < tiles; ++t) sum += call.tiles[row * tiles + t].grad_lam;
    store_grad_lam(call, call.lam.offset(row), sum);
  }
}

template <class Storage>
__global__ void __launch_bounds__(kAcrossThreads)
    kernel_backward_across(const __grid_constant__ BackwardRows<Storage> call) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t row = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < call.count;
       row += step) {
    AgentBackwardAcross<Storage>(call, row).run();
  }
}

}  // namespace tautline::detail
