// Forward of rows of up to kLongestWarpRow samples in one launch: blocks take the
// rows in turn. See agent/agent_forward.cuh for mapping, traffic and shared memory.
//
// Rows whose segments are too long to search them from their middle are put on a list of
// the warp and streamed, a lane each, when there are 32 (agent/agent_stream.cuh). Where half of the
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

/// A warp's list of rows, each with a reason, by how far they are from the first one: half the
/// memory of rows.
class RowList {
 public:
  __device__ explicit RowList(std::int32_t* places) noexcept : places_(places) {}

  [[nodiscard]] __device__ int count() const noexcept { return count_; }
  [[nodiscard]] __device__ std::int64_t row(int i) const noexcept {
    return first_ + (places_[i] >> kReasonBits);
  }
  [[nodiscard]] __device__ CareReason reason(int i) const noexcept {
    return static_cast<CareReason>(places_[i] & ((1 << kReasonBits) - 1));
  }
  /// Whether the rows of all lanes can be added, which begin at `first`.
  [[nodiscard]] __device__ bool has_room(std::int64_t first) const noexcept {
    const std::int64_t apart = first - first_;
    return count_ == 0 || (count_ <= kListRoom - kLanes && apart < kFarthest && -apart < kFarthest);
  }
  /// Adds the rows of the lanes that have one.
  __device__ void add(bool has_row, std::int64_t row, std::int64_t first,
                      CareReason reason = CareReason::unsearchable) noexcept {
    if (count_ == 0) first_ = first;
    const unsigned with = __ballot_sync(kWarp, has_row);
    const unsigned before = with & ((1U << (threadIdx.x % kLanes)) - 1);
    const std::int64_t place = (row - first_) * (1 << kReasonBits) + static_cast<int>(reason);
    if (has_row) places_[count_ + __popc(before)] = static_cast<std::int32_t>(place);
    count_ += __popc(with);
    __syncwarp();
  }
  /// Drops the first rows of the list.
  __device__ void drop(int count) noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    count_ -= count;
    const std::int32_t place = lane < count_ ? places_[count + lane] : 0;
    __syncwarp();
    if (lane < count_) places_[lane] = place;
    __syncwarp();
  }

 private:
  /// The rows of a task, and those that were streamed together, are not as far apart.
  static constexpr std::int64_t kFarthest = std::int64_t{1} << 27;
  static constexpr int kReasonBits = 2;

  std::int32_t* places_;
  std::int64_t first_ = 0;
  int count_ = 0;
};

/// Not inlined: rows are rare that need it, and registers are not.
template <class Storage>
__noinline__ __device__ void solve_carefully(const ForwardRows<Storage>& call,
                                             const CarefulSlots& slots, RowList list) noexcept {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  if (lane >= slots.lanes) return;
  const std::int64_t warp = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  const CarefulScratch scratch(
      slots.block + static_cast<std::size_t>(warp * slots.lanes) * slots.bytes, call.shape.n, lane,
      slots.lanes);
  for (int i = lane; i < list.count(); i += slots.lanes) {
    AgentCarefulRow<Storage>(call, scratch, list.row(i)).solve(list.reason(i));
  }
}

/// Not inlined either: it has three callers. The ring is told by its place in shared memory, as
/// a compiler knows how to read that. `row` is the lane's, of the first `count` lanes. Returns
/// whether it needs care, and why.
struct StreamedRow {
  bool needs_care;
  CareReason reason;
};
template <class Storage, bool kAlongMemory>
__noinline__ __device__ StreamedRow stream_rows(const ForwardRows<Storage>& call,
                                                unsigned ring_offset, std::uint32_t* codes,
                                                std::int64_t row, int count) noexcept {
  extern __shared__ __align__(128) char shared[];
  auto* ring = reinterpret_cast<ArithmeticOf<Storage>*>(shared + ring_offset);
  AgentStream<Storage, kAlongMemory> agent(call, ring, codes);
  agent.solve(row, count);
  return {agent.needs_care(), agent.care_reason()};
}

/// What a warp does with the rows that are not simply searched.
template <class Storage, bool kStreams, bool kAlongMemory>
class OtherRows {
 public:
  /// `ring_offset` is where the warp's samples are in shared memory.
  __device__ OtherRows(const ForwardRows<Storage>& call, const CarefulSlots& slots,
                       std::int32_t* lists, unsigned ring_offset) noexcept
      : call_(call),
        slots_(slots),
        ring_offset_(ring_offset),
        careful_(lists),
        streamed_(lists + kListRoom) {}

  /// Rows of lanes that have one; they begin at `first`.
  __device__ void add_careful(bool has_row, std::int64_t row, std::int64_t first,
                              CareReason reason) noexcept {
    if (__any_sync(kWarp, has_row) == 0) return;
    if (!careful_.has_room(first)) solve_careful();
    careful_.add(has_row, row, first, reason);
  }
  __device__ void add_streamed(bool has_row, std::int64_t row, std::int64_t first) noexcept {
    if (__any_sync(kWarp, has_row) == 0) return;
    if (!streamed_.has_room(first)) stream();
    streamed_.add(has_row, row, first);
    if (streamed_.count() >= kLanes) stream();
  }
  __device__ void finish() noexcept {
    if constexpr (kStreams) {
      while (streamed_.count() > 0) stream();
    }
    if (careful_.count() > 0) solve_careful();
  }

 private:
  /// Streams the first 32 rows of the list.
  __device__ void stream() noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const std::int64_t warp = (std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
    std::byte* scratch =
        slots_.block + static_cast<std::size_t>(warp * slots_.lanes) * slots_.bytes;
    const int count = min(streamed_.count(), kLanes);
    const std::int64_t first = streamed_.row(0);
    const std::int64_t row = streamed_.row(lane < count ? lane : 0);
    const StreamedRow streamed = stream_rows<Storage, kAlongMemory>(
        call_, ring_offset_, reinterpret_cast<std::uint32_t*>(scratch), row, count);
    __syncwarp();
    streamed_.drop(count);
    add_careful(streamed.needs_care, row, first, streamed.reason);
  }
  __device__ void solve_careful() noexcept {
    solve_carefully(call_, slots_, careful_);
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
  constexpr bool kMayStream = kSplit && !kEdges;
  std::int32_t* own_lists = reinterpret_cast<std::int32_t*>(shared + lists) +
                            threadIdx.x / kLanes * kListRoom * (kSplit ? 2 : 1);
  AgentForward<Storage, kEdges, kSplit, kAlongMemory> agent(rows, shared);
  OtherRows<Storage, kMayStream, kAlongMemory> others(rows, slots, own_lists,
                                                      agent.samples_offset());
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t step = rows.shape.rows_per_block();
  int skips = 0;  // tasks that are not searched first
  for (std::int64_t first = blockIdx.x * step; first < rows.count; first += gridDim.x * step) {
    if constexpr (kMayStream && kAlongMemory) {
      if (skips > 0) {
        --skips;
        others.add_streamed(lane < step && first + lane < rows.count, first + lane, first);
        continue;
      }
    }
    agent.solve(first);
    others.add_careful(agent.needs_care(), agent.row(), first, agent.care_reason());
    if constexpr (kMayStream) {
      const unsigned streams = __ballot_sync(kWarp, agent.needs_stream());
      if (2 * __popc(streams) >= rows.shape.rows_per_warp) skips = kSkippedTasks;
      others.add_streamed(agent.needs_stream(), agent.row(), first);
    }
  }
  others.finish();
}

}  // namespace tautline::detail
