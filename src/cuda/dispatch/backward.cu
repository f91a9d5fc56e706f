#include "cuda/dispatch/backward.h"

#include <algorithm>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_backward.cuh"

namespace tautline::detail {
namespace {

constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;

bool is_along_memory(const Backward1d& call) noexcept {
  return call.solved.rows.n == 1 ||
         (call.grad_y.stride == 1 && (!call.grad_x.given || call.grad_x.stride == 1));
}

std::int64_t tile_count(const Rows& rows) noexcept {
  return rows.n <= kBackwardTile ? 0 : (rows.n + kBackwardTile - 1) / kBackwardTile;
}

/// Whether rows of whole words lie one behind the other without gaps.
template <class Data>
bool is_packed(const PlacedRows<Data>& rows, std::int64_t count, std::int32_t n) noexcept {
  const bool follow = count == 1 || (rows.dims == 1 && rows.step[0] == n);
  return follow && n % kWordElements == 0 &&
         rows.holds_vectors(n, static_cast<int>(16 / sizeof(Data)));
}

template <class Storage>
BackwardRows<Storage> lay_out(const Backward1d& call) noexcept {
  const Rows& batch = call.solved.rows;
  BackwardRows<Storage> rows = {};
  rows.count = batch.count;
  rows.n = batch.n;
  rows.partition = call.solved.partition;
  rows.grad_y = PlacedRows<const Storage>(call.grad_y, batch);
  rows.wants_x = call.grad_x.given;
  if (rows.wants_x) rows.grad_x = PlacedRows<Storage>(call.grad_x, batch);
  rows.whole_vectors = is_packed(rows.grad_y, batch.count, batch.n) &&
                       (!rows.wants_x || is_packed(rows.grad_x, batch.count, batch.n));
  rows.sharp = call.solved.mode == Mode::sharp;
  if (call.grad_lam.given && call.grad_lam.size > 0) {
    rows.lam = PlacedRows<const void* const>(call.grad_lam, batch);
    rows.lam_data = call.grad_lam.data;
    rows.lam_dtype = call.grad_lam.dtype;
  }
  return rows;
}

template <class Storage>
Status launch_blocks(BackwardRows<Storage>& rows, const Rows& batch, const Context& context) {
  const std::int64_t tiles = tile_count(batch);
  const int words = (std::min(rows.n, kBackwardTile) + kWordElements - 1) / kWordElements;
  const auto threads = static_cast<unsigned>((words + 31) / 32 * 32);
  const dim3 grid(static_cast<unsigned>(std::min(rows.count, kMostBlocks)),
                  static_cast<unsigned>(std::max<std::int64_t>(tiles, 1)));
  // Room for the elements, and where tiles are summed for two sums and two places each.
  const std::size_t shared =
      threads * std::max(kWordElements * sizeof(Storage), 2 * sizeof(double) + 2 * sizeof(int));
  if (tiles > 0) {
    const std::size_t bytes = backward_workspace(batch);
    if (const Status status = check_workspace(bytes, context); !status.ok()) return status;
    rows.tiles = static_cast<TileSums*>(context.workspace);
    const Status allowed = allow_shared_memory(&kernel_sum_tiles<Storage>, shared);
    if (!allowed.ok()) return allowed;
    kernel_sum_tiles<Storage><<<grid, threads, shared, stream_of(context)>>>(rows);
    if (const Status status = launch_status(); !status.ok()) return status;
  }
  const Status allowed = allow_shared_memory(&kernel_backward_blocks<Storage>, shared);
  if (!allowed.ok()) return allowed;
  kernel_backward_blocks<Storage><<<grid, threads, shared, stream_of(context)>>>(rows);
  if (const Status status = launch_status(); !status.ok()) return status;
  if (tiles > 0 && rows.lam_data != nullptr && rows.lam.size == 1) {
    constexpr unsigned kThreads = 128;
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((rows.count + kThreads - 1) / kThreads, 1 << 16));
    kernel_sum_grad_lam<Storage><<<blocks, kThreads, 0, stream_of(context)>>>(rows);
    return launch_status();
  }
  return {};
}

}  // namespace

std::size_t backward_workspace(const Rows& rows) noexcept {
  return static_cast<std::size_t>(rows.count * tile_count(rows)) * sizeof(TileSums);
}

bool has_fast_backward(const Backward1d& call) noexcept {
  const bool same_type = !call.grad_x.given || call.grad_x.dtype == call.grad_y.dtype;
  // float64 gradients of lam are summed in float64 throughout.
  const bool wide_lam = call.grad_lam.given && call.grad_lam.dtype == DType::float64 &&
                        call.grad_y.dtype != DType::float64;
  const bool is_sharp_across = call.solved.mode == Mode::sharp && !is_along_memory(call);
  return same_type && !wide_lam && !is_sharp_across;
}

template <class Storage>
Status backward_in(const Backward1d& call, const Context& context) noexcept {
  BackwardRows<Storage> rows = lay_out<Storage>(call);
  constexpr std::int64_t kMostGrid = 1 << 20;
  if (!is_along_memory(call)) {
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((rows.count + kAcrossThreads - 1) / kAcrossThreads, kMostGrid));
    kernel_backward_across<Storage><<<blocks, kAcrossThreads, 0, stream_of(context)>>>(rows);
    return launch_status();
  }
  if (rows.n > kLongestSharedWarpRow) return launch_blocks(rows, call.solved.rows, context);
  const int rows_per_warp = 32 / ((rows.n + kWordElements - 1) / kWordElements);
  const std::int64_t rows_per_block = std::int64_t{rows_per_warp} * kSharedWarps;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>((rows.count + rows_per_block - 1) / rows_per_block, kMostGrid));
  const std::size_t shared = 32 * kSharedWarps * kWordElements * sizeof(Storage);
  kernel_backward_warps<Storage>
      <<<blocks, 32 * kSharedWarps, shared, stream_of(context)>>>(rows);
  return launch_status();
}

template Status backward_in<__half>(const Backward1d&, const Context&) noexcept;
template Status backward_in<__nv_bfloat16>(const Backward1d&, const Context&) noexcept;
template Status backward_in<float>(const Backward1d&, const Context&) noexcept;
template Status backward_in<double>(const Backward1d&, const Context&) noexcept;

}  // namespace tautline::detail
