// The ops of src/torch, called on LibTorch tensors without the dispatcher: this library
// registers nothing, so that a process may load the Python package beside it.
#pragma once

#include <torch/csrc/inductor/aoti_torch/utils.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/types.h>

#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "torch/tensors.h"

namespace tautline::libtorch {

/// The same tensor in the other's terms: a new handle to shared data.
inline torch::stable::Tensor to_stable(const at::Tensor& tensor) {
  return torch::stable::Tensor(torch::aot_inductor::new_tensor_handle(at::Tensor(tensor)));
}

/// An undefined tensor is one that was not given.
inline std::optional<torch::stable::Tensor> to_optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(to_stable(tensor)) : std::nullopt;
}

inline at::Tensor from_stable(const torch::stable::Tensor& tensor) {
  return *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor.get());
}

/// Makes a call of src/torch; its errors of arguments become c10::ValueError.
template <class Call>
auto call(Call&& function) {
  try {
    return std::forward<Call>(function)();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::string marker = torch_ops::kInvalidArgument;
    TORCH_CHECK_VALUE(!text.starts_with(marker), text.substr(marker.size()));
    throw;
  }
}

}  // namespace tautline::libtorch
