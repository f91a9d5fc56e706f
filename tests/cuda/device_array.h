// Arrays in device memory, and tests that need a GPU.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace tautstring::testing {

inline int device_count() {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0;
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    void* data = nullptr;
    EXPECT_EQ(cudaMalloc(&data, size * sizeof(T)), cudaSuccess);
    data_ = static_cast<T*>(data);
  }
  explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) { upload(host); }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void upload(const std::vector<T>& host) {
    EXPECT_EQ(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
    // A copy from pageable memory may return before it has arrived, and other streams do not wait.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  [[nodiscard]] std::vector<T> download() {
    std::vector<T> host(size_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// Reported as skipped if there is no GPU.
class OnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "no CUDA device found";
  }
};

}  // namespace tautstring::testing
