// The total variation layer as a LibTorch module. It matches Python's tautstring.TVLayer, including
// the names and shapes of parameters and buffers: a state_dict saved in Python can be loaded here
// tensor by tensor (examples/cpp/load_state.cpp).
#pragma once

#include <torch/arg.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/modules/common.h>
#include <torch/nn/modules/container/any.h>
#include <torch/nn/pimpl.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include "tautstring/export.h"
#include "tautstring/torch/tv1d.h"
#include "tautstring/torch/tv2d.h"

namespace tautstring {

/// image: differences along both last dimensions of (N, C, H, W) or (C, H, W), Python's "2d"; row:
/// along the last one only; col: along the one before it; signal: along the last of (N, C, L) or
/// (C, L), Python's "1d".
enum class Direction : std::uint8_t { image, row, col, signal };

struct TAUTSTRING_API TVLayerOptions {
  // NOLINTNEXTLINE(google-explicit-constructor)
  TVLayerOptions(std::int64_t channels) : channels_(channels) {}

  /// Number of channels, each with its own lambda; 1: one lambda for all.
  TORCH_ARG(std::int64_t, channels);
  TORCH_ARG(Mode, mode) = Mode::smooth;
  TORCH_ARG(Direction, direction) = Direction::image;
  /// The initial lambda, or its value if it is not learnable: one number, or one per channel. > 0
  /// if learnable, else >= 0 (0 is the identity, infinity the mean).
  TORCH_ARG(std::vector<double>, lam) = {0.05};
  /// true: the parameter raw_lam, with lambda = softplus(raw_lam). false: the buffer
  /// fixed_lam, which is lambda itself.
  TORCH_ARG(bool, learnable) = true;
  /// For Direction::image: options of the iterations, as in prox_tv2d.
  TORCH_ARG(std::optional<Method2d>, method) = std::nullopt;
  TORCH_ARG(std::optional<std::int64_t>, iterations) = std::nullopt;
  TORCH_ARG(std::optional<double>, tol) = std::nullopt;
  TORCH_ARG(std::optional<Derivative2d>, derivative) = std::nullopt;
};

class TAUTSTRING_API TVLayerImpl : public torch::nn::Cloneable<TVLayerImpl> {
 public:
  explicit TVLayerImpl(TVLayerOptions options);

  /// Creates the parameter or buffer, with lambda from the options.
  void reset() override;

  /// Smooths or sharpens x, with the layer's own lambdas or with those passed to this call, as in
  /// prox_tv1d or prox_tv2d (one number: a tensor without dimensions).
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& lam = {});

  /// The current lambdas, of shape (channels), in at least float32.
  [[nodiscard]] torch::Tensor lam() const;

  void pretty_print(std::ostream& stream) const override;

  TVLayerOptions options;   // NOLINT(readability-identifier-naming)
  torch::Tensor raw_lam;    // NOLINT(readability-identifier-naming)
  torch::Tensor fixed_lam;  // NOLINT(readability-identifier-naming)

 protected:
  FORWARD_HAS_DEFAULT_ARGS({1, torch::nn::AnyValue(torch::Tensor())})

 private:
  [[nodiscard]] torch::Tensor lam_of_channels(const torch::Tensor& x) const;
};

TORCH_MODULE(TVLayer);

}  // namespace tautstring
