// Implementation of pass_in for all storage types.
#pragma once

#include "cuda/dispatch/forward.cuh"
#include "cuda/dispatch/long_rows.h"
#include "cuda/kernels/kernel_pass.cuh"

namespace tautstring::detail {

template <class Storage>
Status pass_in(const Forward1d& call, const ImagePass<Storage>& pass,
               const Context& context) noexcept {
  if (!fits_a_warp(call.rows)) return long_pass_in(call, pass, context);
  auto rows = lay_out_pass(call, pass);
  rows.shape = shape_of<Storage>(call);
  if (rows.shape.warps > 0) return launch_rows(rows, call, context);
  // A device with little shared memory.
  if (const Status status = rows_forward(call, context); !status.ok()) return status;
  constexpr std::int64_t kThreads = 256;
  const std::int64_t count = call.rows.count * call.rows.n;
  const auto blocks =
      static_cast<unsigned>(std::min<std::int64_t>((count + kThreads - 1) / kThreads, 1 << 20));
  kernel_to_next_input<<<blocks, kThreads, 0, stream_of(context)>>>(count, pass, rows.x.data,
                                                                    rows.y.data);
  return launch_status();
}

}  // namespace tautstring::detail
