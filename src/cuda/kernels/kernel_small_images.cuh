// Images that fit in a block, all iterations in one launch. agent/agent_image.cuh describes the
// mapping, the memory traffic and the shared memory.
#pragma once

#include "cuda/agent/agent_image.cuh"
#include "cuda/agent/agent_image_gradient.cuh"

namespace tautstring::detail {

/// The number of blocks per multiprocessor that registers must allow.
[[nodiscard]] constexpr int wanted_image_blocks(int side, bool accelerated) noexcept {
  if (side == kLanes) return accelerated ? 16 : 20;
  return accelerated ? 5 : 8;
}
[[nodiscard]] constexpr int wanted_gradient_blocks(int side, bool accelerated) noexcept {
  if (side == kLanes) return accelerated ? 16 : 20;
  return accelerated ? 6 : 8;
}

template <int kSide, bool kAccelerated, bool kXInShared>
__global__ void __launch_bounds__(kSide, wanted_image_blocks(kSide, kAccelerated))
    kernel_small_images(const __grid_constant__ SmallImages call) {
  extern __shared__ __align__(256) char shared[];
  AgentImage<kSide, kAccelerated, kXInShared>(call, shared).solve(blockIdx.x);
}

template <int kSide, bool kAccelerated>
__global__ void __launch_bounds__(kSide, wanted_gradient_blocks(kSide, kAccelerated))
    kernel_small_gradients(const __grid_constant__ SmallGradients call) {
  extern __shared__ __align__(256) char shared[];
  AgentImageGradient<kSide, kAccelerated>(call, shared).solve(blockIdx.x);
}

}  // namespace tautstring::detail
