#include "cuda/dispatch/forward.cuh"

namespace tautline::detail {
namespace {

/// At most so many blocks of these bytes of shared memory run at a time on this device;
/// registers may allow fewer.
int most_resident(const ForwardShape& shape, std::size_t shared_bytes) noexcept {
  constexpr std::size_t kBlockReserve = std::size_t{1} << 10;  // what CUDA keeps for itself
  constexpr int kMostBlocks = 32;
  constexpr int kMostResidentWarps = 64;
  const DeviceSize device = current_device();
  const std::size_t fitting = device.shared_memory / (shared_bytes + kBlockReserve);
  const int each = std::clamp(static_cast<int>(fitting), 1,
                              std::min(kMostBlocks, kMostResidentWarps / shape.warps));
  return each * device.processors;
}

}  // namespace

ForwardGrid::ForwardGrid(const Rows& rows, const ForwardShape& shape, int resident) noexcept
    : slot_bytes(CarefulScratch::bytes(rows.n)) {
  const std::int64_t tasks = (rows.count + shape.rows_per_block() - 1) / shape.rows_per_block();
  blocks = static_cast<int>(std::min<std::int64_t>(tasks, resident));
  const auto warps = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(shape.warps);
  const auto affordable = static_cast<std::int64_t>(kMostCarefulScratch / (warps * slot_bytes));
  const std::int64_t useful =
      (rows.count + static_cast<std::int64_t>(warps) - 1) / static_cast<std::int64_t>(warps);
  careful_lanes =
      static_cast<int>(std::clamp<std::int64_t>(std::min(affordable, useful), 1, kLanes));
  workspace = warps * static_cast<std::size_t>(careful_lanes) * slot_bytes;
}

bool fits_a_warp(const Rows& rows) noexcept {
  return rows.n <= kLongestWarpRow;
}

std::size_t forward_workspace(const Rows& rows) noexcept {
  // Wider types, and lam an edge, have fewer warps at a time and no more scratch, but
  // for where it comes from the other limits.
  std::size_t bytes = 0;
  for (const bool along : {true, false}) {
    const ForwardShape shape =
        forward_shape(rows.n, along, sizeof(float), false, current_device().block_shared_memory);
    if (shape.warps == 0) continue;
    const ForwardGrid grid(rows, shape,
                           most_resident(shape, shape.block_bytes(sizeof(float), false)));
    const auto warps =
        static_cast<std::size_t>(grid.blocks) * static_cast<std::size_t>(shape.warps);
    const std::size_t by_rows = (static_cast<std::size_t>(rows.count) + warps) * grid.slot_bytes;
    const std::size_t by_memory = std::max(kMostCarefulScratch, warps * grid.slot_bytes);
    bytes = std::max(bytes, std::min(by_rows, by_memory));
  }
  return bytes;
}

}  // namespace tautline::detail
