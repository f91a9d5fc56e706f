// Forward and backward of rows without data weights. Requires at least one row and one element.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

/// Scratch bytes for either of the calls below.
std::size_t unweighted_workspace(const Rows& rows) noexcept;

Status unweighted_forward(const Forward1d& call, const Context& context) noexcept;
Status unweighted_backward(const Backward1d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
