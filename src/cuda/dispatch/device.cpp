#include "cuda/dispatch/device.h"

namespace tautline::detail {

DeviceSize current_device() noexcept {
  int device = 0;
  int processors = 0;
  int shared_memory = 0;
  int block_shared_memory = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&shared_memory, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) !=
          cudaSuccess ||
      cudaDeviceGetAttribute(&block_shared_memory, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                             device) != cudaSuccess) {
    cudaGetLastError();  // no device: nothing that a later call should hear of
    return {.processors = 132,
            .shared_memory = std::size_t{228} << 10,
            .block_shared_memory = std::size_t{227} << 10};
  }
  return {.processors = processors,
          .shared_memory = static_cast<std::size_t>(shared_memory),
          .block_shared_memory = static_cast<std::size_t>(block_shared_memory)};
}

Status device_status(cudaError_t error) noexcept {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // told here, and not again by the next call
  return {.code = StatusCode::device_error, .device_error = static_cast<int>(error)};
}

}  // namespace tautline::detail
