#include "cuda/dispatch/backward.h"

#include <algorithm>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_backward.cuh"

namespace tautline::detail {
namespace {

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

template <class Storage, bool kAlongMemory>
Status launch(BackwardRows<Storage>& rows, const Rows& batch, const Context& context) noexcept {
  const std::int64_t tiles = tile_count(batch);
  rows.shape = backward_shape(rows.n, sizeof(ArithmeticOf<Storage>), kAlongMemory);
  const auto threads = static_cast<unsigned>(rows.shape.threads());
  const std::size_t shared = AgentBackward<Storage, kAlongMemory>::Shared::bytes(rows.shape);
  auto* backward = &kernel_backward<Storage, kAlongMemory>;
  if (const Status status = allow_shared_memory(backward, shared); !status.ok()) return status;
  // No more blocks than run at a time: each takes rows until there are none left.
  int resident = 0;
  const Status counted = resident_blocks(backward, static_cast<int>(threads), shared, resident);
  if (!counted.ok()) return counted;
  const std::int64_t row_blocks = (rows.count + rows.shape.rows - 1) / rows.shape.rows;
  const dim3 grid(static_cast<unsigned>(std::min<std::int64_t>(row_blocks, resident)),
                  static_cast<unsigned>(std::max<std::int64_t>(tiles, 1)));
  if (tiles > 0) {
    const std::size_t bytes = backward_workspace(batch);
    if (const Status status = check_workspace(bytes, context); !status.ok()) return status;
    rows.tiles = static_cast<TileSums*>(context.workspace);
    auto* sum_tiles = &kernel_sum_tiles<Storage, kAlongMemory>;
    if (const Status status = allow_shared_memory(sum_tiles, shared); !status.ok()) return status;
    sum_tiles<<<grid, threads, shared, stream_of(context)>>>(rows);
    if (const Status status = launch_status(); !status.ok()) return status;
  }
  backward<<<grid, threads, shared, stream_of(context)>>>(rows);
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
  return same_type && !wide_lam;
}

template <class Storage>
Status backward_in(const Backward1d& call, const Context& context) noexcept {
  BackwardRows<Storage> rows = lay_out<Storage>(call);
  return is_along_memory(call) ? launch<Storage, true>(rows, call.solved.rows, context)
                               : launch<Storage, false>(rows, call.solved.rows, context);
}

template Status backward_in<__half>(const Backward1d&, const Context&) noexcept;
template Status backward_in<__nv_bfloat16>(const Backward1d&, const Context&) noexcept;
template Status backward_in<float>(const Backward1d&, const Context&) noexcept;
template Status backward_in<double>(const Backward1d&, const Context&) noexcept;

}  // namespace tautline::detail
