// The measures of a GPU's speed that need no solver: a plain copy and an empty launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bench {

/// Copies by a kernel. `bytes` is rounded up to 16: allocations are larger than that anyway.
void copy_by_kernel(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

void launch_nothing(cudaStream_t stream);

}  // namespace bench
