// DnCNN for colour images, with total variation at its input, its output, or both. It is the net of
// tautstring_tasks, with the same parameter names and, for a given seed, the same initial weights.
#pragma once

#include <tautstring/torch/layer.h>
#include <torch/nn/modules/container/sequential.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "safetensors.h"

namespace denoise {

struct ModelOptions {
  std::string arm = "both";  // where TV layers are: none, input, output, both
  std::int64_t depth = 17;   // convolutions
  std::int64_t width = 64;   // channels between them
  double lam = 1e-2;         // initial lambda; images are in [0, 1]
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ModelOptions, arm, depth, width, lam)

/// Estimates the noise of images in [0, 1] and subtracts it.
class DnCNNImpl : public torch::nn::Module {
 public:
  explicit DnCNNImpl(const ModelOptions& options);

  /// Denoises images of shape (N, 3, H, W).
  torch::Tensor forward(const torch::Tensor& noisy);

  /// The TV layers of the net.
  [[nodiscard]] std::vector<tautstring::TVLayer> tv_layers() const;

  /// All tensors by name. They share memory with the net.
  [[nodiscard]] TensorMap state() const;

  /// Loads the values of all tensors; none may be left over.
  void load_state(const TensorMap& saved);

 private:
  void reset_parameters();

  torch::nn::Sequential noise_;
  tautstring::TVLayer at_input_{nullptr};
  tautstring::TVLayer at_output_{nullptr};
};

TORCH_MODULE(DnCNN);

}  // namespace denoise
