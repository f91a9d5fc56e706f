// Forward of rows of up to kLongestWarpRow samples in one launch: blocks take the
// rows in turn. See agent/agent_forward.cuh for mapping, traffic and shared memory.
//
// Rows whose segments are too long to search them from their middle are put on a list of
// the warp and streamed, a lane each, when there are 32 (agent/agent_stream.cuh). Where all
// rows of a task were, the next ones are not searched first; now and then one is, as rows
// may change. Who solves a row changes nothing but the time.
//
// Rows that need care are put on another list and solved when it is full or all other
// rows are done (agent/agent_careful_row.cuh): linear in n whatever the row, and not in
// the way of its neighbours.
#pragma once

#include "cuda/agent/agent_careful_row.cuh"
#include "cuda/agent/agent_forward.cuh"
#include "cuda/agent/agent_stream.cuh"

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

/// Not inlined either: it has three callers. The ring is told by its place in shared memory, of
/// which a compiler knows how to read it. Returns whether the row of the lane needs care.
template <class Storage, bool kAlongMemory>
__noinline__ __device__ bool stream_rows(const ForwardRows<Storage>& call, unsigned ring_offset,
                                         std::uint32_t* codes, const std::int64_t* list,
                                         int count) noexcept {
  extern __shared__ __align__(128) char shared[];
  auto* ring = reinterpret_cast<ArithmeticOf<Storage>*>(shared + ring_offset);
  AgentStream<Storage, kAlongMemory> agent(call, ring, codes);
  agent.solve(list, count);
  return agent.needs_care();
}

/// A warp's list of rows.
class RowList {
 public:
  __device__ explicit RowList(std::int64_t* rows) noexcept : rows_(rows) {}

  [[nodiscard]] __device__ int count() const noexcept { return count_; }
  [[nodiscard]] __device__ const std::int64_t* rows() const noexcept { return rows_; }
  /// Adds the rows of the lanes that have one: room must be for 32.
  __device__ void add(bool has_row, std::int64_t row) noexcept {
    const unsigned with = __ballot_sync(kWarp, has_row);
    const unsigned before = with & ((1U << (threadIdx.x % kLanes)) - 1);
    if (has_row) rows_[count_ + __popc(before)] = row;
    count_ += __popc(with);
    __syncwarp();
  }
  /// Drops the first rows of the list.
  __device__ void drop(int count) noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    count_ -= count;
    const std::int64_t row = lane < count_ ? rows_[count + lane] : 0;
    __syncwarp();
    if (lane < count_) rows_[lane] = row;
    __syncwarp();
  }

 private:
  std::int64_t* rows_;
  int count_ = 0;
};

/// What a warp does with the rows that are not simply searched.
template <class Storage, bool kStreams, bool kAlongMemory>
class OtherRows {
 public:
  /// `ring_offset` is where the warp's samples are in shared memory.
  __device__ OtherRows(const ForwardRows<Storage>& call, const CarefulSlots& slots,
                       std::int64_t* lists, unsigned ring_offset) noexcept
      : call_(call),
        slots_(slots),
        ring_offset_(ring_offset),
        careful_(lists),
        streamed_(lists + kListRoom) {}

  __device__ void add_careful(bool has_row, std::int64_t row) noexcept {
    if (__any_sync(kWarp, has_row) == 0) return;
    careful_.add(has_row, row);
    if (careful_.count() > kListRoom - kLanes) solve_careful();
  }
  __device__ void add_streamed(bool has_row, std::int64_t row) noexcept {
    if (__any_sync(kWarp, has_row) == 0) return;
    streamed_.add(has_row, row);
    if (streamed_.count() >= kLanes) stream(kLanes);
  }
  __device__ void finish() noexcept {
    if constexpr (kStreams) {
      if (streamed_.count() > 0) stream(streamed_.count());
    }
    if (careful_.count() > 0) solve_careful();
  }

 private:
  __device__ void stream(int count) noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const std::int64_t warp = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
    std::byte* scratch =
        slots_.block + static_cast<std::size_t>(warp * slots_.lanes) * slots_.bytes;
    const std::int64_t row = streamed_.rows()[lane < count ? lane : 0];
    const bool needs_care = stream_rows<Storage, kAlongMemory>(
        call_, ring_offset_, reinterpret_cast<std::uint32_t*>(scratch), streamed_.rows(), count);
    __syncwarp();
    streamed_.drop(count);
    add_careful(needs_care, row);
  }
  __device__ void solve_careful() noexcept {
    solve_carefully(call_, slots_, careful_.rows(), careful_.count());
    __syncwarp();
    careful_.drop(careful_.count());
  }

  const ForwardRows<Storage>& call_;
  const CarefulSlots& slots_;
  const unsigned ring_offset_;
  RowList careful_;
  RowList streamed_;
};

template <class Storage, bool kEdges, bool kSplit, bool kAlongMemory>
__global__ void __launch_bounds__(kLanes* most_forward_warps(kSplit, kAlongMemory),
                                  wanted_forward_blocks(kSplit, kAlongMemory))
    kernel_forward(const __grid_constant__ ForwardRows<Storage> rows,
                   const __grid_constant__ CarefulSlots slots) {
  extern __shared__ __align__(128) char shared[];
  using T = ArithmeticOf<Storage>;
  const std::size_t lists = rows.shape.warps * rows.shape.warp_bytes(sizeof(T), kEdges);
  std::int64_t* own_lists =
      reinterpret_cast<std::int64_t*>(shared + lists) + threadIdx.x / kLanes * 2 * kListRoom;
  AgentForward<Storage, kEdges, kSplit, kAlongMemory> agent(rows, shared);
  constexpr bool kMayStream = kSplit && !kEdges;
  OtherRows<Storage, kMayStream, kAlongMemory> others(rows, slots, own_lists,
                                                      agent.samples_offset());
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t step = rows.shape.rows_per_block();
  int skips = 0;  // tasks that are not searched first
  for (std::int64_t first = blockIdx.x * step; first < rows.count; first += gridDim.x * step) {
    if constexpr (kMayStream && kAlongMemory) {
      if (skips > 0) {
        --skips;
        others.add_streamed(lane < step && first + lane < rows.count, first + lane);
        continue;
      }
    }
    agent.solve(first);
    others.add_careful(agent.needs_care(), agent.row());
    if constexpr (kMayStream) {
      const unsigned streams = __ballot_sync(kWarp, agent.needs_stream());
      if (__popc(streams) == rows.shape.rows_per_warp) skips = kSkippedTasks;
      others.add_streamed(agent.needs_stream(), agent.row());
    }
  }
  others.finish();
}

}  // namespace tautline::detail
