#include "copy.h"
#include "device.h"

namespace bench {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;  // 16-byte loads in flight

/// A block copies kThreads * kPerThread neighbouring words, each warp 512 bytes at a time.
__global__ void copy_words(const uint4* __restrict__ from, uint4* __restrict__ to,
                           std::size_t words) {
  const std::size_t start =
      static_cast<std::size_t>(blockIdx.x) * kThreads * kPerThread + threadIdx.x;
  uint4 held[kPerThread];
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (start + k * kThreads < words) held[k] = from[start + k * kThreads];
  }
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    if (start + k * kThreads < words) to[start + k * kThreads] = held[k];
  }
}

__global__ void do_nothing() {}

}  // namespace

void copy_by_kernel(const void* from, void* to, std::size_t bytes, cudaStream_t stream) {
  const std::size_t words = (bytes + sizeof(uint4) - 1) / sizeof(uint4);
  const std::size_t blocks = (words + kThreads * kPerThread - 1) / (kThreads * kPerThread);
  copy_words<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      static_cast<const uint4*>(from), static_cast<uint4*>(to), words);
  check_cuda(cudaGetLastError());
}

void launch_nothing(cudaStream_t stream) {
  do_nothing<<<1, 32, 0, stream>>>();
  check_cuda(cudaGetLastError());
}

}  // namespace bench
