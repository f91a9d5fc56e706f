// What the current device has room for. Asked in every call, so it is remembered.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tautstring/status.h"

namespace tautstring::detail {

struct DeviceSize {
  int processors;                   // streaming multiprocessors
  std::size_t shared_memory;        // bytes of each of them
  std::size_t block_shared_memory;  // the most that a block can have
};

/// Of the current device; where there is none, of an H200, so that sizes can be asked
/// for anywhere.
[[nodiscard]] DeviceSize current_device() noexcept;

[[nodiscard]] Status device_status(cudaError_t error) noexcept;

/// Lets a kernel have more dynamic shared memory than it may have by default.
template <class Kernel>
[[nodiscard]] Status allow_shared_memory(Kernel* kernel, std::size_t bytes) noexcept {
  constexpr std::size_t kAlwaysAllowed = std::size_t{48} << 10;
  if (bytes <= kAlwaysAllowed) return {};
  // Always the same number: another thread may be between this and its launch.
  return device_status(cudaFuncSetAttribute(
      reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
      static_cast<int>(current_device().block_shared_memory)));
}

/// How many blocks of a kernel run at a time on the current device.
[[nodiscard]] Status resident_blocks(const void* kernel, int threads, std::size_t shared,
                                     int& blocks) noexcept;

}  // namespace tautstring::detail
