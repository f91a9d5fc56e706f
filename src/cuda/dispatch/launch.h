// Shared by all launches: the caller's stream and the status of a launch. Nothing here waits for
// the device.
#pragma once

#include <cuda_runtime_api.h>

#include "tautstring/context.h"
#include "tautstring/status.h"

namespace tautstring::detail {

[[nodiscard]] inline cudaStream_t stream_of(const Context& context) noexcept {
  return static_cast<cudaStream_t>(context.stream);
}

/// The status of the last launch. The error may also come from an earlier kernel.
[[nodiscard]] inline Status launch_status() noexcept {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return {};
  return {.code = StatusCode::device_error, .device_error = static_cast<int>(error)};
}

}  // namespace tautstring::detail
