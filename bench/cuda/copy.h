// Measures of a GPU's speed without a solver: a plain copy and an empty launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace bench {

/// Copies with a kernel. `bytes` is rounded up to a multiple of 16: allocations are large
/// enough.
void copy_by_kernel(const void* from, void* to, std::size_t bytes, cudaStream_t stream);

void launch_nothing(cudaStream_t stream);

}  // namespace bench
