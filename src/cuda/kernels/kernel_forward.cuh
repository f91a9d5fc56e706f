// Forward of rows of up to kLongestWarpRow samples in one launch: blocks take the
// rows in turn. See agent/agent_forward.cuh for mapping, traffic and shared memory.
//
// Rows whose segments are too long to search them from their middle are put on a list of
// the warp and streamed, a lane each, when all others are done (agent/agent_stream.cuh). Where
// half of the rows of a task were, the next ones are not searched first; now and then one is,
// as rows may change. Who solves a row changes nothing but the time.
//
// Rows that need care are put on another list. Where there are two ways to search them they are
// searched once more (agent/agent_second_search.cuh) and then solved level by level
// (agent/agent_hard_row.cuh); else, or where that is not possible, by the taut string
// (agent/agent_careful_row.cuh). All of it is linear in n whatever the row, and not in the way of
// its neighbours.
#pragma once

#include "cuda/agent/agent_careful_row.cuh"
#include "cuda/agent/agent_forward.cuh"
#include "cuda/agent/agent_hard_row.cuh"
#include "cuda/agent/agent_second_search.cuh"
#include "cuda/agent/agent_stream.cuh"

namespace tautstring::detail {

/// Scratch of the rows that are not simply searched, a part for each warp of the grid.
struct ForwardScratch {
  std::byte* slots;        // of rows that need care
  std::size_t slot_bytes;  // each
  int lanes;               // slots a warp
  std::int64_t* lists;     // of rows: two a warp, where rows are streamed
  std::int64_t list_room;  // rows each

  [[nodiscard]] static __device__ std::int64_t warp() noexcept {
    return (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  }
  [[nodiscard]] __device__ std::byte* slots_of_warp() const noexcept {
    return slots + static_cast<std::size_t>(warp() * lanes) * slot_bytes;
  }
  [[nodiscard]] __device__ std::int64_t* list_of_warp(int list) const noexcept {
    return lists + (warp() * 2 + list) * list_room;
  }
};

/// A warp's list of rows, each with a reason.
class RowList {
 public:
  __device__ explicit RowList(std::int64_t* places) noexcept : places_(places) {}

  [[nodiscard]] __device__ std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] __device__ std::int64_t row(std::int64_t i) const noexcept {
    return places_[i] >> kReasonBits;
  }
  [[nodiscard]] __device__ CareReason reason(std::int64_t i) const noexcept {
    return static_cast<CareReason>(places_[i] & ((1 << kReasonBits) - 1));
  }
  /// Adds the rows of the lanes that have one.
  __device__ void add(bool has_row, std::int64_t row,
                      CareReason reason = CareReason::unsearchable) noexcept {
    const unsigned with = __ballot_sync(kWarp, has_row);
    const unsigned before = with & ((1U << (threadIdx.x % kLanes)) - 1);
    const std::int64_t place = row * (1 << kReasonBits) + static_cast<int>(reason);
    if (has_row) places_[count_ + __popc(before)] = place;
    count_ += __popc(with);
    __syncwarp();
  }
  /// Puts row i of what was on the list before it was cleared at its end, which is not behind i.
  __device__ void keep(std::int64_t i) noexcept {
    if (threadIdx.x % kLanes == 0) places_[count_] = places_[i];
    ++count_;
    __syncwarp();
  }
  __device__ void clear() noexcept { count_ = 0; }

 private:
  static constexpr int kReasonBits = 2;

  std::int64_t* places_;
  std::int64_t count_ = 0;
};

/// Not inlined: rows are rare that need it, and registers are not.
template <class Call>
__noinline__ __device__ void solve_carefully(const Call& call, const ForwardScratch& scratch,
                                             RowList list) noexcept {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  if (lane >= scratch.lanes) return;
  const CarefulScratch own(scratch.slots_of_warp(), call.shape.n, lane, scratch.lanes);
  for (std::int64_t i = lane; i < list.count(); i += scratch.lanes) {
    AgentCarefulRow<Call>(call, own, list.row(i)).solve();
  }
}

/// Keeps on the list what neither the other way of searching solves nor the whole warp.
template <class Call>
__noinline__ __device__ RowList solve_together(const Call& call, const ForwardScratch& scratch,
                                               RowList list, unsigned samples_offset) noexcept {
  using T = ArithmeticOf<typename Call::Storage>;
  extern __shared__ __align__(128) char shared[];
  auto* samples = reinterpret_cast<T*>(shared + samples_offset);
  auto* codes = reinterpret_cast<std::uint32_t*>(samples + call.shape.depth() * kLanes);
  const std::int64_t count = list.count();
  list.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = list.row(i);
    const CareReason reason = list.reason(i);
    std::byte* slot = scratch.slots_of_warp();
    const bool is_solved = reason != CareReason::unsearchable &&
                           (AgentSecondSearch<Call>(call, slot, row).solve(reason) ||
                            AgentHardRow<Call>(call, samples, codes, slot, row).solve());
    if (!is_solved) list.keep(i);
  }
  return list;
}

/// Not inlined either. The ring is told by its place in shared memory, as a compiler knows how
/// to read that. `row` is the lane's, of the first `count` lanes. Returns whether it needs care,
/// and why.
struct StreamedRow {
  bool needs_care;
  CareReason reason;
};
template <class Call, bool kAlongMemory>
__noinline__ __device__ StreamedRow stream_rows(const Call& call, unsigned ring_offset,
                                                std::uint32_t* codes, std::int64_t row,
                                                int count) noexcept {
  extern __shared__ __align__(128) char shared[];
  auto* ring = reinterpret_cast<ArithmeticOf<typename Call::Storage>*>(shared + ring_offset);
  AgentStream<Call, kAlongMemory> agent(call, ring, codes);
  agent.solve(row, count);
  return {agent.needs_care(), agent.care_reason()};
}

/// What a warp does with rows that need care where none is streamed: its list is short, in
/// shared memory, and emptied when it is full.
template <class Call>
class CarefulRows {
 public:
  __device__ CarefulRows(const Call& call, const ForwardScratch& scratch,
                         std::int64_t* list) noexcept
      : call_(call), scratch_(scratch), careful_(list) {}

  /// Rows of lanes that have one.
  __device__ void add(bool has_row, std::int64_t row) noexcept {
    if (__any_sync(kWarp, has_row) == 0) return;
    if (careful_.count() > kListRoom - kLanes) finish();
    careful_.add(has_row, row);
  }
  __device__ void finish() noexcept {
    if (careful_.count() == 0) return;
    solve_carefully(call_, scratch_, careful_);
    __syncwarp();
    careful_.clear();
  }

 private:
  const Call& call_;
  const ForwardScratch& scratch_;
  RowList careful_;
};

/// The same where rows are streamed, in the grid's scratch: nothing is done with them before all
/// others are. A compiler takes a warp for split behind a call in which lanes vote, and pays for
/// it in every loop from there.
template <class Call, bool kAlongMemory>
class LateRows {
 public:
  __device__ LateRows(const Call& call, const ForwardScratch& scratch) noexcept
      : call_(call),
        scratch_(scratch),
        careful_(scratch.list_of_warp(0)),
        streamed_(scratch.list_of_warp(1)) {}

  /// Rows of lanes that have one. To stream a row is also the other way to search it where its
  /// pieces have failed.
  __device__ void add_careful(bool has_row, std::int64_t row, CareReason reason) noexcept {
    const bool streams = call_.can_stream && reason == CareReason::pieces_failed;
    if (__any_sync(kWarp, has_row) == 0) return;
    careful_.add(has_row && !streams, row, reason);
    streamed_.add(has_row && streams, row, reason);
  }
  __device__ void add_streamed(bool has_row, std::int64_t row) noexcept {
    if (__any_sync(kWarp, has_row) != 0) streamed_.add(has_row, row);
  }
  /// `ring_offset` is where the warp's samples are in shared memory.
  __device__ void finish(unsigned ring_offset) noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    auto* codes = reinterpret_cast<std::uint32_t*>(scratch_.slots_of_warp());
    for (std::int64_t first = 0; first < streamed_.count(); first += kLanes) {
      const auto count = static_cast<int>(min(streamed_.count() - first, std::int64_t{kLanes}));
      const std::int64_t at = first + (lane < count ? lane : 0);
      const std::int64_t row = streamed_.row(at);
      StreamedRow streamed = stream_rows<Call, kAlongMemory>(call_, ring_offset, codes, row, count);
      __syncwarp();
      if (streamed_.reason(at) == CareReason::pieces_failed) {
        streamed.reason = CareReason::both_failed;
      }
      careful_.add(streamed.needs_care, row, streamed.reason);
    }
    if (careful_.count() == 0) return;
    solve_carefully(call_, scratch_, solve_together(call_, scratch_, careful_, ring_offset));
  }

 private:
  const Call& call_;
  const ForwardScratch& scratch_;
  RowList careful_;
  RowList streamed_;
};

/// `Call` is a ForwardRows.
template <class Call, bool kEdges, bool kSplit, bool kAlongMemory>
__global__ void __launch_bounds__(kLanes* wanted_forward_warps(kSplit), 1)
    kernel_forward(const __grid_constant__ Call rows,
                   const __grid_constant__ ForwardScratch scratch) {
  extern __shared__ __align__(128) char shared[];
  AgentForward<Call, kEdges, kSplit, kAlongMemory> agent(rows, shared);
  const std::int64_t step = rows.shape.rows_per_block();
  if constexpr (ForwardShape::may_stream(kSplit, kEdges)) {
    LateRows<Call, kAlongMemory> others(rows, scratch);
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    int skips = 0;  // tasks that are not searched first
    for (std::int64_t first = blockIdx.x * step; first < rows.count; first += gridDim.x * step) {
      if (kAlongMemory && skips > 0) {
        --skips;
        others.add_streamed(lane < step && first + lane < rows.count, first + lane);
        continue;
      }
      agent.solve(first);
      others.add_careful(agent.needs_care(), agent.row(), agent.care_reason());
      const unsigned streams = __ballot_sync(kWarp, agent.needs_stream());
      if (2 * __popc(streams) >= rows.shape.rows_per_warp) skips = kSkippedTasks;
      others.add_streamed(agent.needs_stream(), agent.row());
    }
    others.finish(agent.samples_offset());
  } else {
    const std::size_t lists =
        rows.shape.lists_offset(sizeof(ArithmeticOf<typename Call::Storage>), kEdges);
    CarefulRows<Call> others(
        rows, scratch,
        reinterpret_cast<std::int64_t*>(shared + lists) + threadIdx.x / kLanes * kListRoom);
    for (std::int64_t first = blockIdx.x * step; first < rows.count; first += gridDim.x * step) {
      agent.solve(first);
      others.add(agent.needs_care(), agent.row());
    }
    others.finish();
  }
}

}  // namespace tautstring::detail
