// Tensors in safetensors files, in the format of tautstring_tasks, so that both can read them. The
// description of the tensors is JSON in the file's metadata.
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

/// Returns tensors on the CPU. Throws std::runtime_error if the file is broken.
Saved load(const std::filesystem::path& file);

/// Writes tensors of any device. The file is either complete or not there.
void save(const std::filesystem::path& file, const Saved& saved);

}  // namespace denoise
