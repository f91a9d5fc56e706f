// Images, generated on the GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "image_cases.h"

namespace bench {

/// Other seeds generate other images of the same family.
void fill_images(ImageFamily family, const ImageShape& shape, std::uint64_t seed, float* values,
                 cudaStream_t stream);

}  // namespace bench
