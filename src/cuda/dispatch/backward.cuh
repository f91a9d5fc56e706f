// Implementation of backward_in and backward_pass_in for all storage types.
#pragma once

#include <algorithm>
#include <limits>

#include "cuda/dispatch/backward.h"
#include "cuda/dispatch/device.h"
#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_backward.cuh"

namespace tautstring::detail {

inline bool is_along_memory(const Backward1d& call) noexcept {
  return call.solved.rows.n == 1 ||
         (call.grad_y.stride == 1 && (!call.grad_x.given || call.grad_x.stride == 1));
}

inline std::int32_t tile_count(const Rows& rows) noexcept {
  return (rows.n - 1) / kBackwardTile + 1;
}

/// Whether rows of whole words are contiguous, without gaps.
template <class Data>
bool is_packed(const PlacedRows<Data>& rows, std::int64_t count, std::int32_t n) noexcept {
  const bool follow = count == 1 || (rows.dims == 1 && rows.step[0] == n);
  return follow && n % kWordElements == 0 &&
         rows.holds_vectors(n, static_cast<int>(16 / sizeof(Data)));
}

template <class Storage, BackwardOutput kOutput>
BackwardRows<Storage, kOutput> lay_out_backward(const Backward1d& call) noexcept {
  const Rows& batch = call.solved.rows;
  BackwardRows<Storage, kOutput> rows = {};
  rows.count = batch.count;
  rows.n = batch.n;
  rows.row_words = static_cast<std::int32_t>(partition_words(batch.n));
  rows.word_count = batch.count * rows.row_words;
  rows.tile_count = tile_count(batch);
  rows.partition = call.solved.partition;
  rows.grad_y = PlacedRows<const Storage>(call.grad_y, batch);
  rows.wants_x = call.grad_x.given;
  if (rows.wants_x) rows.grad_x = PlacedRows<Storage>(call.grad_x, batch);
  rows.sharp = call.solved.mode == Mode::sharp;
  if (call.grad_lam.given && call.grad_lam.size > 0) {
    rows.lam = PlacedRows<const void* const>(call.grad_lam, batch);
    rows.lam_data = call.grad_lam.data;
    rows.lam_dtype = call.grad_lam.dtype;
  }
  return rows;
}

template <class Call, BackwardAccess kAccess, BackwardSpan kSpan>
Status launch_backward(const Call& rows, const Context& context) noexcept {
  const std::size_t shared = AgentBackward<Call, kAccess, kSpan>::shared_bytes(rows.shape);
  const std::int64_t blocks =
      (rows.count + rows.shape.rows - 1) / rows.shape.rows * rows.tile_count;
  if (blocks > std::numeric_limits<std::int32_t>::max()) {  // hundreds of gigabytes of codes
    return device_status(cudaErrorInvalidConfiguration);
  }
  const auto launch_kernel = [&](auto* kernel) noexcept -> Status {
    if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
    kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(rows.shape.threads()), shared,
             stream_of(context)>>>(rows);
    return launch_status();
  };
  if constexpr (kSpan == BackwardSpan::group) {
    if (rows.tile_count > 1) {
      const Status status =
          launch_kernel(&kernel_backward<Call, kAccess, kSpan, BackwardTask::tile_sums>);
      if (!status.ok()) return status;
    }
  }
  const bool edges = rows.lam_data != nullptr && rows.lam.size > 1;
  return launch_kernel(
      edges ? &kernel_backward<Call, kAccess, kSpan, BackwardTask::gradients_with_edges>
            : &kernel_backward<Call, kAccess, kSpan, BackwardTask::gradients>);
}

template <class Call, BackwardAccess kAccess>
Status launch_backward(Call& rows, const Rows& batch, const Context& context) noexcept {
  using Storage = typename Call::Storage;
  rows.shape = backward_shape(rows.n, sizeof(Storage), sizeof(ArithmeticOf<Storage>), kAccess);
  if (rows.tile_count > 1) {
    const std::size_t bytes = backward_workspace(batch);
    if (const Status status = check_workspace(bytes, context); !status.ok()) return status;
    rows.tiles = static_cast<TileSums*>(context.workspace);
  }
  const Status status = rows.shape.groups == 1
                            ? launch_backward<Call, kAccess, BackwardSpan::rows>(rows, context)
                            : launch_backward<Call, kAccess, BackwardSpan::group>(rows, context);
  if (!status.ok()) return status;
  if (rows.tile_count > 1 && rows.lam_data != nullptr && rows.lam.size == 1) {
    constexpr unsigned kThreads = 128;
    const auto blocks = static_cast<unsigned>(
        std::min<std::int64_t>((rows.count + kThreads - 1) / kThreads, 1 << 16));
    kernel_sum_grad_lam<Call><<<blocks, kThreads, 0, stream_of(context)>>>(rows);
    return launch_status();
  }
  return {};
}

/// Takes rows that are already laid out.
template <class Call>
Status launch_rows(Call& rows, const Backward1d& call, const Context& context) noexcept {
  const Rows& batch = call.solved.rows;
  if (!is_along_memory(call)) {
    return launch_backward<Call, BackwardAccess::across>(rows, batch, context);
  }
  const bool packed = is_packed(rows.grad_y, batch.count, batch.n) &&
                      (!rows.wants_x || is_packed(rows.grad_x, batch.count, batch.n));
  return packed ? launch_backward<Call, BackwardAccess::vectors>(rows, batch, context)
                : launch_backward<Call, BackwardAccess::along>(rows, batch, context);
}

template <class Storage>
Status backward_in(const Backward1d& call, const Context& context) noexcept {
  auto rows = lay_out_backward<Storage, BackwardOutput::gradient>(call);
  return launch_rows(rows, call, context);
}

template <class Storage>
Status backward_pass_in(const Backward1d& call, const ImageGradients<Storage>& images,
                        const Context& context) noexcept {
  auto rows = lay_out_backward<Storage, BackwardOutput::next_incoming>(call);
  rows.images = images;
  return launch_rows(rows, call, context);
}

}  // namespace tautstring::detail
