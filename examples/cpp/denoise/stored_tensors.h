// What a safetensors file holds, without torch. It is checked: a tensor has as many bytes as its
// shape and dtype ask for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace denoise {

struct StoredTensor {
  std::string name;
  std::string dtype;  // as the file names it: "F32"
  std::vector<std::int64_t> shape;
  std::string_view bytes;  // of the content that was parsed
};

struct StoredFile {
  static constexpr const char* kMetadata = "__metadata__";
  static constexpr const char* kAbout = "about";  // in the metadata: `about` as JSON in a text

  std::vector<StoredTensor> tensors;  // in the order of their bytes
  nlohmann::json about;               // what is known about them
};

/// Throws std::runtime_error for content that is broken.
StoredFile parse_safetensors(std::string_view content);

}  // namespace denoise
