// Images that a block holds: one launch for all their iterations.
#pragma once

#include "backend.h"

namespace tautstring::detail {

/// Whether a block can hold such images: then calls below do all that are plain.
[[nodiscard]] bool are_for_blocks(const Images& images, DType dtype, bool by_edge) noexcept;

/// Whether a call is for those below: sizes, types and results that they know.
[[nodiscard]] bool is_for_a_block(const Forward2d& call) noexcept;
[[nodiscard]] bool is_for_a_block(const Backward2d& call) noexcept;

Status small_images_forward(const Forward2d& call, const Context& context) noexcept;
Status small_images_backward(const Backward2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
