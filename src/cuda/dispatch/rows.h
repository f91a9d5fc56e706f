// All calls by the row kernels: correct for any arguments, but not fast.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

/// Scratch bytes for any of the calls below.
std::size_t rows_workspace(const Rows& rows, bool weighted) noexcept;

Status rows_forward(const Forward1d& call, const Context& context) noexcept;
Status rows_backward(const Backward1d& call, const Context& context) noexcept;
Status rows_jvp(const Jvp1d& call, const Context& context) noexcept;
Status rows_certificate(const Certificate1d& call, const Context& context) noexcept;
Status rows_lam_max(const RowReduction& call, const Context& context) noexcept;
Status rows_tv(const RowReduction& call, const Context& context) noexcept;

}  // namespace tautstring::detail
