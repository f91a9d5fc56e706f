// Forward of rows of up to kLongestWarpRow samples in one launch: blocks take the
// rows in turn. See agent/agent_forward.cuh for mapping, traffic and shared memory.
//
// Rows that need care are put on a list of the warp and solved when it is full or
// all other rows are done, a lane each (agent/agent_careful_row.cuh): linear in n
// whatever the row, and not in the way of its neighbours.
#pragma once

#include "cuda/agent/agent_careful_row.cuh"
#include "cuda/agent/agent_forward.cuh"

namespace tautline::detail {

/// Scratch of the rows that need care: `lanes` slots for each warp of the grid.
struct CarefulSlots {
  std::byte* block;
  std::size_t bytes;  // a slot
  int lanes;
};

/// Not inlined: rows are rare that need it, and registers are not.
template <class Storage>
__noinline__ __device__ void solve_carefully(const ForwardRows<Storage>& call,
                                             const CarefulSlots& slots, const std::int64_t* list,
                                             int count) noexcept {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  if (lane >= slots.lanes) return;
  const std::int64_t warp = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const CarefulScratch scratch(
      slots.block + static_cast<std::size_t>(warp * slots.lanes) * slots.bytes, call.shape.n, lane,
      slots.lanes);
  for (int i = lane; i < count; i += slots.lanes) {
    AgentCarefulRow<Storage>(call, scratch, list[i]).solve();
  }
}

/// A warp's list of rows that need care.
template <class Storage>
class CarefulRows {
 public:
  __device__ CarefulRows(const ForwardRows<Storage>& call, const CarefulSlots& slots,
                         std::int64_t* list) noexcept
      : call_(call), slots_(slots), list_(list) {}

  /// Adds the rows of the lanes that have one.
  __device__ void add(bool has_row, std::int64_t row) noexcept {
    const unsigned with = __ballot_sync(kWarp, has_row);
    if (with == 0) return;
    const unsigned before = with & ((1U << (threadIdx.x % kLanes)) - 1);
    if (has_row) list_[count_ + __popc(before)] = row;
    count_ += __popc(with);
    if (count_ > kCarefulRoom - kLanes) solve();
  }

  __device__ void solve() noexcept {
    if (count_ == 0) return;
    __syncwarp();
    solve_carefully(call_, slots_, list_, count_);
    __syncwarp();
    count_ = 0;
  }

 private:
  const ForwardRows<Storage>& call_;
  const CarefulSlots& slots_;
  std::int64_t* list_;
  int count_ = 0;
};

template <class Storage, bool kEdges, bool kSplit, bool kAlongMemory>
__global__ void __launch_bounds__(kSplit ? kLanes* kMostWarps : kLanes* kMostWholeRowWarps,
                                  kSplit ? 1 : kWholeRowBlocks)
    kernel_forward(const __grid_constant__ ForwardRows<Storage> rows,
                   const __grid_constant__ CarefulSlots slots) {
  extern __shared__ __align__(128) char shared[];
  using T = ArithmeticOf<Storage>;
  const std::size_t lists = rows.shape.warps * rows.shape.warp_bytes(sizeof(T), kEdges);
  std::int64_t* list =
      reinterpret_cast<std::int64_t*>(shared + lists) + threadIdx.x / kLanes * kCarefulRoom;
  AgentForward<Storage, kEdges, kSplit, kAlongMemory> agent(rows, shared);
  CarefulRows<Storage> careful(rows, slots, list);
  const std::int64_t step = rows.shape.rows_per_block();
  for (std::int64_t first = blockIdx.x * step; first < rows.count; first += gridDim.x * step) {
    agent.solve(first);
    careful.add(agent.needs_care(), agent.row());
  }
  careful.solve();
}

}  // namespace tautline::detail
