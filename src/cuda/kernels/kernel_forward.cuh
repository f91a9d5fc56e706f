// Forward of rows of up to kLongestWarpRow samples in one launch: blocks take rows in turn.
// agent/agent_forward.cuh describes the mapping, the memory traffic and the shared memory.
//
// Rows whose segments are too long for a search from the middle go on a list of the warp. They are
// streamed, one lane per row, after all other rows (agent/agent_stream.cuh). If half of the rows of
// a task are streamed, the next tasks skip the search; now and then one is searched again, as the
// rows may change. Which method solves a row affects only the time.
//
// Rows that need care go on another list. If there are two ways to search them, they are searched a
// second time (agent/agent_second_search.cuh) and then solved level by level
// (agent/agent_hard_row.cuh). Otherwise, or if those fail, the taut string solves them
// (agent/agent_careful_row.cuh). All of this is linear in n for any row, and does not delay
// neighbouring rows.
#pragma once

#include "cuda/agent/agent_careful_row.cuh"
#include "cuda/agent/agent_forward.cuh"
#include "cuda/agent/agent_hard_row.cuh"
#include "cuda/agent/agent_second_search.cuh"
#include "cuda/agent/agent_stream.cuh"

namespace tautstring::detail {

/// Scratch memory for rows that are not simply searched: one part per warp of the grid.
struct ForwardScratch {
  std::byte* slots;        // for rows that need care
  std::size_t slot_bytes;  // bytes of a slot
  int lanes;               // slots per warp
  std::int64_t* lists;     // lists of rows: two per warp, if rows are streamed
  std::int64_t list_room;  // rows per list

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
  /// Adds the rows of those lanes that have one.
  __device__ void add(bool has_row, std::int64_t row,
                      CareReason reason = CareReason::unsearchable) noexcept {
    const unsigned with = __ballot_sync(kWarp, has_row);
    const unsigned before = with & ((1U << (threadIdx.x % kLanes)) - 1);
    const std::int64_t place = row * (1 << kReasonBits) + static_cast<int>(reason);
    if (has_row) places_[count_ + __popc(before)] = place;
    count_ += __popc(with);
    __syncwarp();
  }
  /// Appends row i of the list as it was before clear(). The end of the list must not be past i.
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

/// Not inlined: few rows need it, and it would cost registers.
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

/// Keeps on the list the rows that neither the second search nor the whole warp can solve.
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

/// Not inlined either. The ring is passed as an offset into shared memory, because the compiler
/// then knows how to read it. `row` is the row of the lane, for the first `count` lanes. Returns
/// whether the row needs care, and why.
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

/// The rows of a warp that need care, in kernels that do not stream. The list is short, lies in
/// shared memory, and is emptied when it is full.
template <class Call>
class CarefulRows {
 public:
  __device__ CarefulRows(const Call& call, const ForwardScratch& scratch,
                         std::int64_t* list) noexcept
      : call_(call), scratch_(scratch), careful_(list) {}

  /// Adds the rows of those lanes that have one.
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

/// The same in kernels that stream. The lists are in the grid's scratch memory, and their rows are
/// solved after all others: after a call in which lanes vote the compiler assumes that the warp has
/// diverged, which would cost time in every later loop.
template <class Call, bool kAlongMemory>
class LateRows {
 public:
  __device__ LateRows(const Call& call, const ForwardScratch& scratch) noexcept
      : call_(call),
        scratch_(scratch),
        careful_(scratch.list_of_warp(0)),
        streamed_(scratch.list_of_warp(1)) {}

  /// Adds the rows of those lanes that have one. If the search in pieces has failed, streaming is
  /// the second way to search a row.
  __device__ void add_careful(bool has_row, std::int64_t row, CareReason reason) noexcept {
    const bool streams = call_.can_stream && reason == CareReason::pieces_failed;
    if (__any_sync(kWarp, has_row) == 0) return;
    careful_.add(has_row && !streams, row, reason);
    streamed_.add(has_row && streams, row, reason);
  }
  __device__ void add_streamed(bool has_row, std::int64_t row) noexcept {
    if (__any_sync(kWarp, has_row) != 0) streamed_.add(has_row, row);
  }
  /// `ring_offset`: where the warp's samples are in shared memory.
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
    int skips = 0;  // tasks whose rows are streamed without a search
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
