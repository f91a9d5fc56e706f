// Implementation of forward_in and pass_in for all storage types.
#pragma once

#include <algorithm>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/forward.h"
#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/lay_out.cuh"
#include "cuda/dispatch/rows.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_forward.cuh"
#include "cuda/tuning/tuning_forward.h"

namespace tautstring::detail {

/// The grid of a forward kernel, and its scratch memory.
struct ForwardGrid {
  /// `resident`: number of blocks that the device runs at a time.
  ForwardGrid(const Rows& rows, const ForwardShape& shape, int resident) noexcept;

  int blocks;
  int careful_lanes;
  std::size_t slot_bytes;
  std::int64_t list_room;
  std::size_t slots;  // bytes of all slots
  std::size_t workspace;
};

/// See ForwardRows.
template <class Data>
[[nodiscard]] std::int64_t chunks_apart(const PlacedRows<Data>& rows,
                                        const ForwardShape& shape) noexcept {
  if (rows.dims > 1) return 0;
  const std::int64_t rows_apart = rows.dims == 1 ? rows.step[0] : 0;
  if (shape.lanes_per_row == 1) return rows_apart;
  const bool follow = rows_apart == std::int64_t{shape.chunk} * shape.lanes_per_row;
  return shape.rows_per_warp == 1 || follow ? shape.chunk : 0;
}

template <class Call>
Status launch_forward(void (*kernel)(Call, ForwardScratch), Call& rows, bool edges,
                      const Rows& batch, const Context& context) noexcept {
  using T = ArithmeticOf<typename Call::Storage>;
  const std::size_t shared = rows.shape.block_bytes(sizeof(T), edges);
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  // Launch no more blocks than can run at a time: each takes rows until none are left.
  int resident = 0;
  const int threads = rows.shape.warps * kLanes;
  const Status counted =
      resident_blocks(reinterpret_cast<const void*>(kernel), threads, shared, resident);
  if (!counted.ok()) return counted;
  const ForwardGrid grid(batch, rows.shape, resident);
  if (const Status status = check_workspace(grid.workspace, context); !status.ok()) return status;
  auto* workspace = static_cast<std::byte*>(context.workspace);
  const ForwardScratch scratch = {workspace, grid.slot_bytes, grid.careful_lanes,
                                  reinterpret_cast<std::int64_t*>(workspace + grid.slots),
                                  grid.list_room};
  // Streaming writes y while it reads x, and x is read again if the row needs care.
  const std::int64_t warps = std::int64_t{grid.blocks} * rows.shape.warps;
  rows.can_stream = !rows.sharp && rows.x.data != rows.y.data;
  rows.may_stream = rows.can_stream && rows.count >= kLeastStreamedRows * warps;
  kernel<<<static_cast<unsigned>(grid.blocks), static_cast<unsigned>(threads), shared,
           stream_of(context)>>>(rows, scratch);
  return launch_status();
}

[[nodiscard]] inline bool has_edges(const Forward1d& call) noexcept {
  return call.lam.array.given && call.lam.array.size > 1;
}

template <class Storage>
[[nodiscard]] ForwardShape shape_of(const Forward1d& call) noexcept {
  return forward_shape(call.rows.n, is_along_memory(call), sizeof(ArithmeticOf<Storage>),
                       has_edges(call), current_device().block_shared_memory);
}

/// Takes rows that are laid out and have a shape.
template <class Call>
Status launch_rows(Call& rows, const Forward1d& call, const Context& context) noexcept {
  const bool edges = has_edges(call);
  const bool along = is_along_memory(call);
  rows.x_chunks_apart = chunks_apart(rows.x, rows.shape);
  rows.y_chunks_apart = chunks_apart(rows.y, rows.shape);
  const auto launch = [&]<bool kEdges, bool kSplit, bool kAlong>() {
    return launch_forward<Call>(&kernel_forward<Call, kEdges, kSplit, kAlong>, rows, kEdges,
                                call.rows, context);
  };
  const bool split = rows.shape.lanes_per_row > 1;
  if (edges) {
    if (split) {
      return along ? launch.template operator()<true, true, true>()
                   : launch.template operator()<true, true, false>();
    }
    return along ? launch.template operator()<true, false, true>()
                 : launch.template operator()<true, false, false>();
  }
  if (split) {
    return along ? launch.template operator()<false, true, true>()
                 : launch.template operator()<false, true, false>();
  }
  return along ? launch.template operator()<false, false, true>()
               : launch.template operator()<false, false, false>();
}

template <class Storage>
Status forward_in(const Forward1d& call, const Context& context) noexcept {
  ForwardRows<Storage> rows = lay_out_forward<Storage>(call);
  rows.shape = shape_of<Storage>(call);
  if (rows.shape.warps == 0) return rows_forward(call, context);  // a small device
  return launch_rows(rows, call, context);
}

}  // namespace tautstring::detail
