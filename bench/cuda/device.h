// Memory, streams and captured calls of the GPU, each freed by its owner. All failures throw.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "tautstring/context.h"

namespace bench {

/// Throws std::runtime_error with CUDA's error text.
void check_cuda(cudaError_t error);

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t size) : size_(size) {
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return size_ * sizeof(T); }

  /// Fills the array with NaN, for any floating-point type: old values cannot pass for a result.
  void spoil(cudaStream_t stream) {
    if (size_ > 0) check_cuda(cudaMemsetAsync(data_, 0xFF, bytes(), stream));
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

/// A context for calls on a stream with this workspace.
[[nodiscard]] inline tautstring::Context context_on(cudaStream_t stream,
                                                    const DeviceArray<std::byte>& workspace) {
  return {.device = tautstring::Device::cuda,
          .stream = stream,
          .workspace = workspace.data(),
          .workspace_size = workspace.size()};
}

/// Copies elements of an array on the GPU to the host. Waits only for the default stream.
template <class T>
[[nodiscard]] std::vector<T> fetched(const T* from, std::size_t count) {
  std::vector<T> values(count);
  if (count > 0)
    check_cuda(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

class Stream {
 public:
  Stream() { check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { check_cuda(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream)); }
  [[nodiscard]] double ms_since(const Event& start) const;  // waits for this event

 private:
  cudaEvent_t event_ = nullptr;
};

/// The work that a call puts on a stream, captured for replay. A call that waits for the device
/// cannot be captured.
class Graph {
 public:
  Graph(const Stream& stream, const std::function<void()>& call);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] std::size_t launches() const;
  void replay(const Stream& stream) const { check_cuda(cudaGraphLaunch(replayed_, stream.get())); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t replayed_ = nullptr;
};

}  // namespace bench
