#include "cuda/dispatch/forward.cuh"

namespace tautstring::detail {
namespace {

/// A row may be on two lists.
constexpr std::size_t kListedRowBytes = 2 * sizeof(std::int64_t);

/// An upper bound on the number of blocks with this much shared memory that a device runs at a
/// time. Registers may allow fewer.
int most_resident(const ForwardShape& shape, std::size_t shared_bytes,
                  const DeviceSize& device) noexcept {
  constexpr int kMostBlocks = 32;
  constexpr int kMostResidentWarps = 64;
  const std::size_t fitting = device.shared_memory / (shared_bytes + kBlockReserve);
  const int each = std::clamp(static_cast<int>(fitting), 1,
                              std::min(kMostBlocks, kMostResidentWarps / shape.warps));
  return each * device.processors;
}

}  // namespace

ForwardGrid::ForwardGrid(const Rows& rows, const ForwardShape& shape, int resident) noexcept
    : slot_bytes(careful_slot_bytes(rows.n)) {
  const std::int64_t tasks = (rows.count + shape.rows_per_block() - 1) / shape.rows_per_block();
  blocks = static_cast<int>(std::min<std::int64_t>(tasks, resident));
  const auto warps = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(shape.warps);
  const auto affordable = static_cast<std::int64_t>(kMostCarefulScratch / (warps * slot_bytes));
  const std::int64_t useful =
      (rows.count + static_cast<std::int64_t>(warps) - 1) / static_cast<std::int64_t>(warps);
  careful_lanes =
      static_cast<int>(std::clamp<std::int64_t>(std::min(affordable, useful), 1, kLanes));
  slots = warps * static_cast<std::size_t>(careful_lanes) * slot_bytes;
  list_room = shape.lanes_per_row == 1 ? 0 : (tasks + blocks - 1) / blocks * shape.rows_per_warp;
  workspace = slots + warps * static_cast<std::size_t>(list_room) * kListedRowBytes;
}

bool fits_a_warp(const Rows& rows) noexcept {
  return rows.n <= kLongestWarpRow;
}

std::size_t forward_workspace(const Rows& rows) noexcept {
  // The maximum over all calls on these rows, whatever their types. Fewer blocks may be resident
  // than most_resident says.
  const DeviceSize device = current_device();
  std::size_t bytes = 0;
  for (const bool along : {true, false}) {
    for (const std::size_t item : {sizeof(float), sizeof(double)}) {
      for (const bool edges : {false, true}) {
        const ForwardShape shape =
            forward_shape(rows.n, along, item, edges, device.block_shared_memory);
        if (shape.warps == 0) continue;
        const ForwardGrid grid(rows, shape,
                               most_resident(shape, shape.block_bytes(item, edges), device));
        const auto warps = static_cast<std::size_t>(grid.blocks * shape.warps);
        const std::size_t by_rows =
            (static_cast<std::size_t>(rows.count) + warps) * grid.slot_bytes;
        const std::size_t by_memory = std::max(kMostCarefulScratch, warps * grid.slot_bytes);
        const auto listed = static_cast<std::size_t>(rows.count) +
                            static_cast<std::size_t>(grid.blocks * shape.rows_per_block());
        bytes = std::max(bytes, std::min(by_rows, by_memory) +
                                    (grid.list_room > 0 ? listed * kListedRowBytes : 0));
      }
    }
  }
  return bytes;
}

}  // namespace tautstring::detail
