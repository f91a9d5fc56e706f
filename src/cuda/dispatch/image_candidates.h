// The gap of any image, found by solving its problem iteratively.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

std::size_t image_candidates_workspace(const Images& images) noexcept;

/// Requires at least one image with a pixel.
Status image_candidates_gap(const Gap2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
