// Forward of rows that a warp can hold, in one launch.
#pragma once

#include <cstddef>

#include "backend.h"
#include "cuda/warp/image_pass.h"

namespace tautstring::detail {

/// Whether rows of this length are for the calls below.
[[nodiscard]] bool fits_a_warp(const Rows& rows) noexcept;

std::size_t forward_workspace(const Rows& rows) noexcept;

/// `Storage` is the type of x's elements.
template <class Storage>
Status forward_in(const Forward1d& call, const Context& context) noexcept;

/// A pass over images: y is what the pass over the other lines takes. Rows of any length.
template <class Storage>
Status pass_in(const Forward1d& call, const ImagePass<Storage>& pass,
               const Context& context) noexcept;

}  // namespace tautstring::detail
