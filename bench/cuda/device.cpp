#include "device.h"

#include <stdexcept>

namespace bench {

void check_cuda(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // otherwise the next launch would report it
  throw std::runtime_error(cudaGetErrorString(error));
}

double Event::ms_since(const Event& start) const {
  float ms = 0;
  check_cuda(cudaEventSynchronize(event_));
  check_cuda(cudaEventElapsedTime(&ms, start.event_, event_));
  return ms;
}

Graph::Graph(const Stream& stream, const std::function<void()>& call) {
  check_cuda(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  try {
    call();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
    cudaGetLastError();
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream.get(), &graph_));
  const cudaError_t error = cudaGraphInstantiate(&replayed_, graph_, 0);
  if (error != cudaSuccess) cudaGraphDestroy(graph_);
  check_cuda(error);
}

Graph::~Graph() {
  cudaGraphExecDestroy(replayed_);
  cudaGraphDestroy(graph_);
}

std::size_t Graph::launches() const {
  std::size_t nodes = 0;
  check_cuda(cudaGraphGetNodes(graph_, nullptr, &nodes));
  return nodes;
}

}  // namespace bench
