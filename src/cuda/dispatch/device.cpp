#include "cuda/dispatch/device.h"

#include <array>
#include <cstdint>

namespace tautstring::detail {

namespace {

/// Assumed if there is no device to query: an H200.
constexpr DeviceSize kSupposedSize = {.processors = 132,
                                      .shared_memory = std::size_t{228} << 10,
                                      .block_shared_memory = std::size_t{227} << 10};

bool find_attribute(cudaDeviceAttr attribute, int device, int& value) noexcept {
  return cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
}

bool find_size(int device, DeviceSize& size) noexcept {
  int processors = 0;
  int shared_memory = 0;
  int block_shared_memory = 0;
  if (!find_attribute(cudaDevAttrMultiProcessorCount, device, processors) ||
      !find_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device, shared_memory) ||
      !find_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device, block_shared_memory)) {
    return false;
  }
  size = {.processors = processors,
          .shared_memory = static_cast<std::size_t>(shared_memory),
          .block_shared_memory = static_cast<std::size_t>(block_shared_memory)};
  return true;
}

/// How many blocks of a kernel one multiprocessor of a device runs at a time.
struct Occupancy {
  const void* kernel = nullptr;
  int device = 0;
  int threads = 0;
  std::size_t shared = 0;
  int blocks = 0;

  [[nodiscard]] bool is_of(const Occupancy& other) const noexcept {
    return kernel == other.kernel && device == other.device && threads == other.threads &&
           shared == other.shared;
  }
};

}  // namespace

// Each thread has its own cache, so that no thread waits for another. A thread that switches
// between devices queries again.

DeviceSize current_device() noexcept {
  thread_local int known_device = -1;
  thread_local DeviceSize known_size = {};
  int device = 0;
  if (cudaGetDevice(&device) == cudaSuccess) {
    if (device == known_device) return known_size;
    if (find_size(device, known_size)) {
      known_device = device;
      return known_size;
    }
  }
  cudaGetLastError();  // no device: clear the error, so that no later call reports it
  return kSupposedSize;
}

Status resident_blocks(const void* kernel, int threads, std::size_t shared, int& blocks) noexcept {
  constexpr std::size_t kPlaces = 64;  // twice the number of kernels that ask
  thread_local std::array<Occupancy, kPlaces> known = {};
  Occupancy wanted = {.kernel = kernel, .threads = threads, .shared = shared};
  if (const Status status = device_status(cudaGetDevice(&wanted.device)); !status.ok()) {
    return status;
  }
  // Functions are at least 16 bytes apart.
  Occupancy& place = known[reinterpret_cast<std::uintptr_t>(kernel) / 16 % kPlaces];
  if (!place.is_of(wanted)) {
    const Status status = device_status(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&wanted.blocks, kernel, threads, shared));
    if (!status.ok()) return status;
    place = wanted;
  }
  blocks = place.blocks * current_device().processors;
  return {};
}

Status device_status(cudaError_t error) noexcept {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // reported here, so the next call must not report it again
  return {.code = StatusCode::device_error, .device_error = static_cast<int>(error)};
}

}  // namespace tautstring::detail
