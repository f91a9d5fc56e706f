// Device memory as a workspace.
#pragma once

#include <memory>

#include "device_array.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {

class Workspace {
 public:
  Workspace(std::int64_t rows, std::int64_t n, bool weighted) {
    const float nothing = 0;
    const ConstView shape = view(&nothing, {rows, n}, {0, 0});
    const Context cuda = {.device = Device::cuda};
    check(prox_tv1d_workspace(shape, weighted, -1, cuda, bytes_));
    memory_ = std::make_unique<DeviceArray<std::byte>>(bytes_);
  }
  [[nodiscard]] Context context(cudaStream_t stream = nullptr) {
    return {.device = Device::cuda,
            .stream = stream,
            .workspace = memory_->data(),
            .workspace_size = bytes_};
  }

 private:
  std::size_t bytes_ = 0;
  std::unique_ptr<DeviceArray<std::byte>> memory_;
};

}  // namespace tautstring::testing
