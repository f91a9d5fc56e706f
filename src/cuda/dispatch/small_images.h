// Images that fit in a block: one launch for all their iterations.
#pragma once

#include "backend.h"

namespace tautstring::detail {

/// Whether a block can hold such images. The calls below then handle all plain calls.
[[nodiscard]] bool are_for_blocks(const Images& images, DType dtype, bool by_edge) noexcept;

/// Whether the calls below support this call: its sizes, types and results.
[[nodiscard]] bool is_for_a_block(const Forward2d& call) noexcept;
[[nodiscard]] bool is_for_a_block(const Backward2d& call) noexcept;

Status small_images_forward(const Forward2d& call, const Context& context) noexcept;
Status small_images_backward(const Backward2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
