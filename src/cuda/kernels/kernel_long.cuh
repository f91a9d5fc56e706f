// Forward of rows that do not fit in a warp, in three launches: find where lanes can begin, search
// their pieces, fill in the values of all elements. The agents have the details.
#pragma once

#include "cuda/agent/agent_careful_row.cuh"
#include "cuda/agent/agent_fill.cuh"
#include "cuda/agent/agent_long_row.cuh"

namespace tautstring::detail {

template <class Call, bool kEdges>
__global__ void __launch_bounds__(kLongThreads)
    kernel_long_starts(const __grid_constant__ LongRows<Call> call) {
  const std::int64_t index = std::int64_t{blockIdx.x} * kLongThreads + threadIdx.x;
  AgentLongRow<Call, kEdges>(call, index).find_start();
}

template <class Call, bool kEdges>
__global__ void __launch_bounds__(kLongThreads)
    kernel_long_search(const __grid_constant__ LongRows<Call> call) {
  const std::int64_t index = std::int64_t{blockIdx.x} * kLongThreads + threadIdx.x;
  AgentLongRow<Call, kEdges>(call, index).search();
}

/// Block (t, b) fills tile t of rows b, b + gridDim.y and so on. Rows that need care are solved by
/// single threads of the blocks of tile 0.
template <class Call>
__global__ void __launch_bounds__(kFillThreads)
    kernel_long_fill(const __grid_constant__ LongRows<Call> call) {
  __shared__ std::int32_t last_starts[kFillThreads / kLanes];
  for (std::int64_t row = blockIdx.y; row < call.rows.count; row += gridDim.y) {
    const LongRowKind kind = call.kinds[row];
    AgentFill<Call> agent(call, row, static_cast<std::int32_t>(blockIdx.x), last_starts);
    if (kind == LongRowKind::nan) {
      agent.fill_nan();
    } else if (kind == LongRowKind::searched) {
      agent.fill();
    } else if (blockIdx.x == 0 && threadIdx.x == 0 && blockIdx.y < call.careful_slots) {
      const std::int32_t n = call.rows.shape.n;
      const CarefulScratch scratch(
          call.careful_block + static_cast<std::size_t>(blockIdx.y) * CarefulScratch::bytes(n), n,
          0, 1);
      AgentCarefulRow<Call>(call.rows, scratch, row).solve();
    }
    __syncthreads();
  }
}

}  // namespace tautstring::detail
