#include "cuda/dispatch/unweighted.h"

#include <algorithm>

#include "cuda/dispatch/backward.h"
#include "cuda/dispatch/forward.h"
#include "cuda/dispatch/long_rows.h"
#include "cuda/dispatch/rows.h"
#include "cuda/warp/storage.cuh"

namespace tautstring::detail {

std::size_t unweighted_workspace(const Rows& rows) noexcept {
  const std::size_t forward =
      fits_a_warp(rows) ? forward_workspace(rows) : long_rows_workspace(rows);
  return std::max({forward, backward_workspace(rows), rows_workspace(rows, false)});
}

Status unweighted_forward(const Forward1d& call, const Context& context) noexcept {
  return with_device_storage(call.x.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    return fits_a_warp(call.rows) ? forward_in<Storage>(call, context)
                                  : long_rows_in<Storage>(call, context);
  });
}

Status unweighted_backward(const Backward1d& call, const Context& context) noexcept {
  if (!has_fast_backward(call)) return rows_backward(call, context);
  return with_device_storage(call.grad_y.dtype, [&](auto storage) {
    return backward_in<decltype(storage)>(call, context);
  });
}

}  // namespace tautstring::detail
