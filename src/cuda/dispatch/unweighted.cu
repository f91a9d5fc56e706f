#include "cuda/dispatch/unweighted.h"

#include "cuda/dispatch/rows.h"

namespace tautline::detail {

std::size_t unweighted_workspace(const Rows& rows) noexcept {
  return rows_workspace(rows, false);
}

Status unweighted_forward(const Forward1d& call, const Context& context) noexcept {
  return rows_forward(call, context);
}

Status unweighted_backward(const Backward1d& call, const Context& context) noexcept {
  return rows_backward(call, context);
}

}  // namespace tautline::detail
