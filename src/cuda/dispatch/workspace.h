// The caller's workspace. Only the caller can give device memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "step/row/scratch.h"
#include "tautline/context.h"
#include "tautline/status.h"

namespace tautline::detail {

/// Whether the workspace has the bytes that a call needs.
[[nodiscard]] inline Status check_workspace(std::size_t bytes, const Context& context) noexcept {
  if (bytes == 0) return {};
  if (context.workspace == nullptr) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace",
            .expected = "must be device memory of the size that prox_tv1d_workspace gives"};
  }
  if (context.workspace_size < bytes) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace_size",
            .expected = "must be at least what prox_tv1d_workspace gives",
            .given = static_cast<double>(context.workspace_size),
            .has_given = true};
  }
  if (reinterpret_cast<std::uintptr_t>(context.workspace) % Scratch::kAlignment != 0) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace",
            .expected = "must be aligned to 64 bytes"};
  }
  return {};
}

}  // namespace tautline::detail
