// Derivatives of the exact 2D solution, by components.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

std::size_t image_components_workspace(const Images& images) noexcept;

Status image_components_backward(const Backward2d& call, const Context& context) noexcept;
Status image_components_jvp(const Jvp2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
