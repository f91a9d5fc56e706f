// Properties of the current device. Cached, because every call needs them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "tautstring/status.h"

namespace tautstring::detail {

struct DeviceSize {
  int processors;                   // streaming multiprocessors
  std::size_t shared_memory;        // bytes per multiprocessor
  std::size_t block_shared_memory;  // the most that a block can have
};

/// Of the current device. Without a device: of an H200, so that workspace sizes can be computed
/// anywhere.
[[nodiscard]] DeviceSize current_device() noexcept;

[[nodiscard]] Status device_status(cudaError_t error) noexcept;

/// Allows a kernel more dynamic shared memory than the default.
template <class Kernel>
[[nodiscard]] Status allow_shared_memory(Kernel* kernel, std::size_t bytes) noexcept {
  constexpr std::size_t kAlwaysAllowed = std::size_t{48} << 10;
  if (bytes <= kAlwaysAllowed) return {};
  // Always set the same number: another thread may run between this call and its launch.
  return device_status(cudaFuncSetAttribute(
      reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
      static_cast<int>(current_device().block_shared_memory)));
}

/// How many blocks of a kernel the current device runs at a time.
[[nodiscard]] Status resident_blocks(const void* kernel, int threads, std::size_t shared,
                                     int& blocks) noexcept;

}  // namespace tautstring::detail
