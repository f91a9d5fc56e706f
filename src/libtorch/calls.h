// Calls the ops of src/torch on LibTorch tensors without the dispatcher: this library
// registers nothing, so a process may also load the Python package.
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

namespace tautstring::libtorch {

/// Converts a tensor to the type that src/torch takes: a new handle to shared data.
/// This does what the dispatcher would do for an op. Values that are not in memory (the
/// negative bit, zeros without memory) are written out, and a tensor without plain
/// memory on a supported device is refused by its name.
inline torch::stable::Tensor to_stable(const char* name, const at::Tensor& tensor) {
  TORCH_CHECK_VALUE(!tensor.is_nested(), name, ": must be a dense tensor, got a nested one");
  TORCH_CHECK_VALUE(tensor.layout() == at::kStrided, name, ": must be a dense tensor, got layout ",
                    tensor.layout());
  TORCH_CHECK_VALUE(tensor.is_cpu() || tensor.is_cuda(), name,
                    ": must be on the CPU or on CUDA, got ", tensor.device());
  at::Tensor written = tensor._is_zerotensor() ? tensor.clone() : tensor.resolve_neg();
  return torch::stable::Tensor(torch::aot_inductor::new_tensor_handle(std::move(written)));
}

/// An undefined tensor counts as not given.
inline std::optional<torch::stable::Tensor> to_optional(const char* name,
                                                        const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(to_stable(name, tensor)) : std::nullopt;
}

inline at::Tensor from_stable(const torch::stable::Tensor& tensor) {
  return *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor.get());
}

/// Calls a function of src/torch and converts its argument errors to c10::ValueError.
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

}  // namespace tautstring::libtorch
