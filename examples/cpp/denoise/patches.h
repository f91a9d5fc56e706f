// The patches of a step: the same as those of tautstring_tasks for the same seed.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "images.h"

namespace denoise {

struct NoiseOptions {
  double sigma = 25.0;      // standard deviation; pixels are in 0..255
  std::int64_t patch = 40;  // width and height of the patches
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NoiseOptions, sigma, patch)

/// Patches of shape (N, 3, size, size), clean and with noise.
struct Batch {
  torch::Tensor clean;
  torch::Tensor noisy;
};

/// Random square patches of images that are all in memory, on the device that trains.
class Patches {
 public:
  Patches(const std::vector<Picture>& pictures, const NoiseOptions& options, torch::Device device);

  /// Draws patches: any position, any of 8 orientations, new noise.
  [[nodiscard]] Batch draw(std::int64_t count, torch::Generator random) const;

 private:
  /// Rows and columns of a patch's pixels, of shape (size, size, N).
  [[nodiscard]] std::pair<torch::Tensor, torch::Tensor> oriented(const torch::Tensor& turn) const;

  NoiseOptions options_;
  torch::Tensor pixels_;  // of all pictures, concatenated
  torch::Tensor heights_, widths_, starts_;
};

}  // namespace denoise
