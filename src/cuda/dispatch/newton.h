// Rows by projected Newton.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

std::size_t newton_workspace(const Rows& rows) noexcept;

/// There are rows, and samples in them.
Status newton_forward(const NewtonForward1d& call, const Context& context) noexcept;

/// Rows without samples are solved, and may still have a report.
Status empty_newton_forward(const NewtonForward1d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
