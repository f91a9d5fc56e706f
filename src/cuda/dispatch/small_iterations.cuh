// Some iterations of images that a block holds, for calls that look at them in between.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cuda/agent/agent_image.cuh"

namespace tautstring::detail {

/// Whether images and lams are such.
[[nodiscard]] bool are_for_blocks(const Forward2d& call) noexcept;

/// From iteration `first` up to `last`, which leaves its input and output of the columns in the
/// state. `partitions` may be null.
Status small_images_iterate(const Forward2d& call, const SmallState& state, int first, int last,
                            std::uint32_t* partitions, const Context& context) noexcept;

}  // namespace tautstring::detail
