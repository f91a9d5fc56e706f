// Some iterations of images that fit in a block, for calls that check them in between.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cuda/agent/agent_image.cuh"

namespace tautstring::detail {

/// Whether images and lams are suitable for that.
[[nodiscard]] bool are_for_blocks(const Forward2d& call) noexcept;

/// Runs iterations first .. last - 1. The last one leaves the input and output of its columns in
/// the state. `partitions` may be null.
Status small_images_iterate(const Forward2d& call, const SmallState& state, int first, int last,
                            std::uint32_t* partitions, const Context& context) noexcept;

}  // namespace tautstring::detail
