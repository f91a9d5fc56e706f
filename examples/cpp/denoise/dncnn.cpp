#include "dncnn.h"

#include <torch/nn/init.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>

#include <set>
#include <vector>

#include "images.h"

namespace denoise {
namespace {

namespace nn = torch::nn;

constexpr double kBatchNormEps = 1e-4;
constexpr double kEndsGain = 0.2;  // of the first and the last convolution
constexpr double kNeighbours =
    0.01;  // standard deviation of all weights except those at the centre

nn::Conv2d make_convolution(std::int64_t from, std::int64_t to) {
  return nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1));
}

/// Delta-orthogonal between equal numbers of channels, so that noise passes through many layers.
void start_convolution(const nn::Conv2dImpl& layer) {
  const torch::NoGradGuard no_grad;
  const std::int64_t channels = layer.weight.size(0);
  if (channels == layer.weight.size(1)) {
    nn::init::normal_(layer.weight, 0, kNeighbours);
    layer.weight.select(3, 1).select(2, 1) +=
        nn::init::orthogonal_(torch::empty({channels, channels}));
  } else {
    nn::init::orthogonal_(layer.weight, kEndsGain);
  }
  nn::init::zeros_(layer.bias);
}

}  // namespace

DnCNNImpl::DnCNNImpl(const ModelOptions& options) {
  static const std::set<std::string> arms = {"none", "input", "output", "both"};
  TORCH_CHECK_VALUE(arms.contains(options.arm), "arm: must be none, input, output or both, got ",
                    options.arm);
  TORCH_CHECK_VALUE(options.depth >= 2, "depth: must be at least 2, got ", options.depth);
  noise_->push_back(make_convolution(kColours, options.width));
  noise_->push_back(nn::ReLU());
  for (std::int64_t i = 0; i < options.depth - 2; ++i) {
    noise_->push_back(make_convolution(options.width, options.width));
    noise_->push_back(nn::BatchNorm2d(nn::BatchNorm2dOptions(options.width).eps(kBatchNormEps)));
    noise_->push_back(nn::ReLU());
  }
  noise_->push_back(make_convolution(options.width, kColours));
  register_module("noise", noise_);
  const auto tv = tautstring::TVLayerOptions(kColours).lam({options.lam});
  const bool is_both = options.arm == "both";
  if (is_both || options.arm == "input") {
    at_input_ = register_module("at_input", tautstring::TVLayer(tv));
  }
  if (is_both || options.arm == "output") {
    at_output_ = register_module("at_output", tautstring::TVLayer(tv));
  }
  reset_parameters();
}

/// Batch norms keep LibTorch's initial values.
void DnCNNImpl::reset_parameters() {
  for (const auto& layer : noise_->children()) {
    if (const auto* const convolution = layer->as<nn::Conv2d>()) start_convolution(*convolution);
  }
}

torch::Tensor DnCNNImpl::forward(const torch::Tensor& noisy) {
  const torch::Tensor x = at_input_ ? at_input_->forward(noisy) : noisy;
  const torch::Tensor y = x - noise_->forward(x);
  return at_output_ ? at_output_->forward(y) : y;
}

std::vector<tautstring::TVLayer> DnCNNImpl::tv_layers() const {
  std::vector<tautstring::TVLayer> found;
  for (const auto& layer : {at_input_, at_output_}) {
    if (layer) found.push_back(layer);
  }
  return found;
}

TensorMap DnCNNImpl::state() const {
  TensorMap state;
  for (const auto& tensors : {named_parameters(), named_buffers()}) {
    for (const auto& tensor : tensors) state.emplace(tensor.key(), tensor.value());
  }
  return state;
}

void DnCNNImpl::load_state(const TensorMap& saved) {
  const torch::NoGradGuard no_grad;
  const TensorMap own = state();
  for (const auto& [name, tensor] : own) {
    const auto found = saved.find(name);
    TORCH_CHECK_VALUE(found != saved.end(), name, ": is missing among the weights");
    TORCH_CHECK_VALUE(tensor.sizes() == found->second.sizes(), name, ": must have shape ",
                      tensor.sizes(), ", got ", found->second.sizes());
    tensor.copy_(found->second);
  }
  TORCH_CHECK_VALUE(own.size() == saved.size(), "weights: must have ", own.size(), " tensors, got ",
                    saved.size());
}

}  // namespace denoise
