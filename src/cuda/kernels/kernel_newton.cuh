// Rows by the projected Newton method. agent/agent_newton.cuh describes the mapping, the memory
// traffic and the shared memory. Rows that it leaves, and rows that do not fit in a block, get one
// thread each, as in kernel_rows.cuh.
#pragma once

#include "cuda/agent/agent_newton.cuh"
#include "cuda/kernels/kernel_rows.cuh"
#include "step/row/newton_worker.h"
#include "step/row/row_values.h"

namespace tautstring::detail {

template <int kThreads, int kItems>
__global__ void __launch_bounds__(kThreads) kernel_newton(const __grid_constant__ NewtonCall call) {
  extern __shared__ __align__(16) char shared[];
  AgentNewton<kThreads, kItems> agent(call, shared);
  for (std::int64_t row = blockIdx.x; row < call.count; row += gridDim.x) agent.solve(row);
}

/// Solves the rows where `left` is 1, or all rows if `left` is null.
inline __global__ void kernel_newton_rows(const __grid_constant__ NewtonForward1d call,
                                          const std::uint8_t* left, RowSlots slots) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (thread >= slots.threads) return;
  const Rows& rows = call.problem.rows;
  Scratch scratch(slots.block + static_cast<std::size_t>(thread) * slots.bytes);
  NewtonWorker worker(call, NewtonScratch(scratch, rows.n));
  for (std::int64_t row = thread; row < rows.count; row += slots.threads) {
    if (left != nullptr && left[row] == 0) continue;
    if (has_allowed_values(call, row)) {
      worker(row);
    } else {
      refuse(call, row);
    }
  }
}

}  // namespace tautstring::detail
