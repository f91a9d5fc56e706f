// Forward of rows that no warp can hold, in three launches.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautline::detail {

std::size_t long_rows_workspace(const Rows& rows) noexcept;

/// `Storage` is the type of x's elements.
template <class Storage>
Status long_rows_in(const Forward1d& call, const Context& context) noexcept;

}  // namespace tautline::detail
