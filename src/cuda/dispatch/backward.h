// Backward of rows without data weights.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautline::detail {

std::size_t backward_workspace(const Rows& rows) noexcept;

/// Whether a call is for backward_in: one type for what comes in and what goes out.
[[nodiscard]] bool has_fast_backward(const Backward1d& call) noexcept;

/// `Storage` is the type of grad_y's elements.
template <class Storage>
Status backward_in(const Backward1d& call, const Context& context) noexcept;

}  // namespace tautline::detail
