#include "cuda/dispatch/forward.cuh"

namespace tautline::detail {
namespace {

/// What CUDA keeps of a multiprocessor's shared memory for each block.
constexpr std::size_t kBlockReserve = std::size_t{1} << 10;

}  // namespace

ForwardGrid::ForwardGrid(const Rows& rows, const ForwardShape& shape,
                         std::size_t shared_bytes) noexcept
    : slot_bytes(CarefulScratch::bytes(rows.n)) {
  const DeviceSize device = current_device();
  constexpr int kMostBlocks = 32;  // a multiprocessor holds no more
  constexpr int kMostResidentWarps = 64;
  const auto fitting =
      static_cast<int>(device.shared_memory / (shared_bytes + kBlockReserve));
  const int resident =
      std::clamp(fitting, 1, std::min(kMostBlocks, kMostResidentWarps / shape.warps));
  const std::int64_t tasks = (rows.count + shape.rows_per_block() - 1) / shape.rows_per_block();
  blocks = static_cast<int>(std::min<std::int64_t>(tasks, std::int64_t{resident} * device.processors));
  const auto warps = static_cast<std::size_t>(blocks) * static_cast<std::size_t>(shape.warps);
  const auto affordable =
      static_cast<std::int64_t>(kMostCarefulScratch / (warps * slot_bytes));
  const std::int64_t useful =
      (rows.count + static_cast<std::int64_t>(warps) - 1) / static_cast<std::int64_t>(warps);
  careful_lanes = static_cast<int>(
      std::clamp<std::int64_t>(std::min(affordable, useful), 1, kLanes));
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
    const ForwardShape shape = forward_shape(rows.n, along);
    const ForwardGrid grid(rows, shape,
                           shape.block_bytes(sizeof(float), false));
    const auto warps = static_cast<std::size_t>(grid.blocks) * static_cast<std::size_t>(shape.warps);
    const std::size_t by_rows = (static_cast<std::size_t>(rows.count) + warps) * grid.slot_bytes;
    const std::size_t by_memory = std::max(kMostCarefulScratch, warps * grid.slot_bytes);
    bytes = std::max(bytes, std::min(by_rows, by_memory));
  }
  return bytes;
}

}  // namespace tautline::detail
