// What every launch shares: the caller's workspace and stream, and the device's
// word on how it went. Nothing here allocates or waits for the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "step/row/scratch.h"
#include "tautline/context.h"
#include "tautline/status.h"

namespace tautline::detail {

[[nodiscard]] inline cudaStream_t stream_of(const Context& context) noexcept {
  return static_cast<cudaStream_t>(context.stream);
}

/// Whether the workspace has the bytes that a call needs. Only the caller can give
/// device memory.
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

/// How the launch before went. An error may also be one that an earlier kernel left.
[[nodiscard]] inline Status launch_status() noexcept {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return {.code = StatusCode::device_error, .device_error = static_cast<int>(error)};
}

}  // namespace tautline::detail
