// The caller's workspace: the backend allocates no device memory itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "step/row/scratch.h"
#include "tautstring/context.h"
#include "tautstring/status.h"

namespace tautstring::detail {

/// Error texts: which function returns the size of the workspace.
struct WorkspaceRules {
  const char* memory;
  const char* size;
};
inline constexpr WorkspaceRules kRowsWorkspace = {
    "must be device memory of the size that prox_tv1d_workspace gives",
    "must be at least what prox_tv1d_workspace gives"};
inline constexpr WorkspaceRules kImagesWorkspace = {
    "must be device memory of the size that prox_tv2d_workspace gives",
    "must be at least what prox_tv2d_workspace gives"};

inline constexpr WorkspaceRules kNewtonWorkspace = {
    "must be device memory of the size that prox_tv1d_newton_workspace gives",
    "must be at least what prox_tv1d_newton_workspace gives"};

/// Checks that the workspace has the bytes that a call needs.
[[nodiscard]] inline Status check_workspace(std::size_t bytes, const Context& context,
                                            const WorkspaceRules& rules = kRowsWorkspace) noexcept {
  if (bytes == 0) return {};
  if (context.workspace == nullptr) {
    return {
        .code = StatusCode::invalid_argument, .argument = "workspace", .expected = rules.memory};
  }
  if (context.workspace_size < bytes) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace_size",
            .expected = rules.size,
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

}  // namespace tautstring::detail
