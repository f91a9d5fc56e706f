// Images by launches over all rows and all columns of a batch in turn, for any size, lam and type.
// Nothing waits for the device, unless images may stop early.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

/// Scratch bytes for any of the calls below, for images of this type.
std::size_t image_passes_workspace(const Images& images, DType dtype) noexcept;

Status image_passes_forward(const Forward2d& call, const Context& context) noexcept;
Status image_passes_backward(const Backward2d& call, const Context& context) noexcept;
Status image_passes_jvp(const Jvp2d& call, const Context& context) noexcept;

/// Images without pixels are already solved, but may have lams.
Status empty_images_forward(const Forward2d& call, const Context& context) noexcept;
Status empty_images_gap(const Gap2d& call, const Context& context) noexcept;
Status empty_images_backward(const Backward2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
