// Forward of rows that fit in a warp, in one launch.
#pragma once

#include <cstddef>

#include "backend.h"
#include "cuda/warp/image_pass.h"

namespace tautstring::detail {

/// Whether the calls below support rows of this length.
[[nodiscard]] bool fits_a_warp(const Rows& rows) noexcept;

std::size_t forward_workspace(const Rows& rows) noexcept;

/// `Storage` is the type of x's elements.
template <class Storage>
Status forward_in(const Forward1d& call, const Context& context) noexcept;

/// One pass over images: y is the input of the pass over the other lines. Rows may have any length.
template <class Storage>
Status pass_in(const Forward1d& call, const ImagePass<Storage>& pass,
               const Context& context) noexcept;

}  // namespace tautstring::detail
