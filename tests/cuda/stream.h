// A stream, and calls on it that are captured for replay.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace tautstring::testing {

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// The work that `enqueue(stream)` puts on a stream. Fails if a call allocates or waits.
class CapturedCalls {
 public:
  template <class Enqueue>
  CapturedCalls(const Stream& stream, const Enqueue& enqueue) : stream_(stream) {
    EXPECT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeGlobal), cudaSuccess);
    enqueue(stream.get());
    EXPECT_EQ(cudaStreamEndCapture(stream.get(), &graph_), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiateWithFlags(&replay_, graph_, 0), cudaSuccess);
  }
  ~CapturedCalls() {
    cudaGraphExecDestroy(replay_);
    cudaGraphDestroy(graph_);
  }
  CapturedCalls(const CapturedCalls&) = delete;
  CapturedCalls& operator=(const CapturedCalls&) = delete;

  void replay() const {
    EXPECT_EQ(cudaGraphLaunch(replay_, stream_.get()), cudaSuccess);
    stream_.wait();
  }
  [[nodiscard]] std::size_t launches() const {
    std::size_t nodes = 0;
    EXPECT_EQ(cudaGraphGetNodes(graph_, nullptr, &nodes), cudaSuccess);
    return nodes;
  }

 private:
  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
};

}  // namespace tautstring::testing
