// Tensors in safetensors files as tautstring_tasks has them, for both to read: what is known about
// the tensors is JSON in the file's metadata.
#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace denoise {

using TensorMap = std::map<std::string, torch::Tensor>;

struct Saved {
  TensorMap tensors;
  nlohmann::json about;
};

/// Gives tensors on the CPU. Throws std::runtime_error for a file that is broken.
Saved load(const std::filesystem::path& file);

/// Writes tensors of any device; the file is whole or not there.
void save(const std::filesystem::path& file, const Saved& saved);

}  // namespace denoise
