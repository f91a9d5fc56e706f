// Forward of rows that do not fit in a warp, in three launches.
#pragma once

#include <cstddef>

#include "backend.h"
#include "cuda/warp/image_pass.h"

namespace tautstring::detail {

std::size_t long_rows_workspace(const Rows& rows) noexcept;

/// `Storage` is the type of x's elements.
template <class Storage>
Status long_rows_in(const Forward1d& call, const Context& context) noexcept;

/// The same for a pass over images.
template <class Storage>
Status long_pass_in(const Forward1d& call, const ImagePass<Storage>& pass,
                    const Context& context) noexcept;

}  // namespace tautstring::detail
