#include "device.h"
#include "image_data.h"
#include "random.cuh"

namespace bench {
namespace {

constexpr int kThreads = 256;
constexpr int kWaves = 4;
constexpr float kWaveSize = 0.4F;
constexpr float kMostPeriods = 3;  // across an image, per axis
constexpr int kColours = 3;        // of the scene from which a sample's features are computed
constexpr int kFilterSide = 3;
constexpr float kSceneNoise = 0.05F;

__device__ float signed_uniform(std::uint64_t bits) {
  return 2 * uniform(static_cast<std::uint32_t>(bits)) - 1;
}

/// `index` tells scenes apart.
__device__ float smooth(std::uint64_t seed, std::int64_t index, float down, float across) {
  float sum = 0;
  for (int wave = 0; wave < kWaves; ++wave) {
    const std::uint64_t direction = hash(seed, 2 * (index * kWaves + wave));
    const std::uint64_t phase = hash(seed, 2 * (index * kWaves + wave) + 1);
    const float periods = kMostPeriods * (signed_uniform(direction) * down +
                                          signed_uniform(direction >> 32U) * across);
    sum += kWaveSize * cospif(2 * periods + signed_uniform(phase));
  }
  return sum;
}

/// A colour of a sample's scene, with one pixel beyond each border for the filter.
__device__ float scene(std::uint64_t seed, const ImageShape& shape, std::int64_t picture,
                       std::int64_t i, std::int64_t j) {
  const std::int64_t pixel = (picture * (shape.height + 2) + i + 1) * (shape.width + 2) + j + 1;
  const float down = static_cast<float>(i) / static_cast<float>(shape.height);
  const float across = static_cast<float>(j) / static_cast<float>(shape.width);
  return smooth(seed, picture, down, across) + kSceneNoise * normal(seed + 1, pixel);
}

/// A channel has the same filter for all samples. The variance of the weights keeps the size of a
/// rectified signal: two over their number.
__device__ float feature(std::uint64_t seed, const ImageShape& shape, std::int64_t image,
                         std::int64_t i, std::int64_t j) {
  constexpr int kWeights = kColours * kFilterSide * kFilterSide;
  const std::int64_t sample = image / shape.channels;
  const std::int64_t channel = image % shape.channels;
  float sum = 0;
  for (int w = 0; w < kWeights; ++w) {
    const int colour = w / (kFilterSide * kFilterSide);
    const int down = w / kFilterSide % kFilterSide - 1;
    const int across = w % kFilterSide - 1;
    sum += normal(seed + 2, channel * kWeights + w) *
           scene(seed, shape, sample * kColours + colour, i + down, j + across);
  }
  return fmaxf(sum * sqrtf(2.0F / kWeights), 0);
}

/// Each thread generates one pixel.
__global__ void fill_pixels(ImageFamily family, ImageShape shape, std::uint64_t seed,
                            float* values) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= shape.elements()) return;
  const std::int64_t image = at / shape.pixels();
  const std::int64_t i = at / shape.width % shape.height;
  const std::int64_t j = at % shape.width;
  switch (family) {
    case ImageFamily::noise: values[at] = normal(seed, at); break;
    case ImageFamily::smooth:
      values[at] = smooth(seed, image, static_cast<float>(i) / static_cast<float>(shape.height),
                          static_cast<float>(j) / static_cast<float>(shape.width));
      break;
    case ImageFamily::features: values[at] = feature(seed, shape, image, i, j); break;
  }
}

}  // namespace

void fill_images(ImageFamily family, const ImageShape& shape, std::uint64_t seed, float* values,
                 cudaStream_t stream) {
  const std::int64_t blocks = (shape.elements() + kThreads - 1) / kThreads;
  fill_pixels<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(family, shape, seed, values);
  check_cuda(cudaGetLastError());
}

}  // namespace bench
