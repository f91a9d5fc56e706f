// Rows by the projected Newton method.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

std::size_t newton_workspace(const Rows& rows) noexcept;

/// Requires at least one row and one sample per row.
Status newton_forward(const NewtonForward1d& call, const Context& context) noexcept;

/// Rows without samples are already solved, but may have a report.
Status empty_newton_forward(const NewtonForward1d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
