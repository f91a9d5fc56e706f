// Tensors to and from what stored_tensors.h has of a file.
#include "safetensors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "files.h"
#include "stored_tensors.h"

namespace denoise {
namespace {

using nlohmann::json;

constexpr std::size_t kAlignment = 8;  // of the data, and the size of the header's length
constexpr std::array<std::pair<std::string_view, torch::ScalarType>, 8> kDtypes = {
    {{"F64", torch::kDouble},
     {"F32", torch::kFloat},
     {"F16", torch::kHalf},
     {"BF16", torch::kBFloat16},
     {"I64", torch::kLong},
     {"I32", torch::kInt},
     {"U8", torch::kByte},
     {"BOOL", torch::kBool}}};

void require(bool is_met, const std::string& message) {
  if (!is_met) throw std::runtime_error(message);
}

torch::ScalarType dtype_of(const std::string& name) {
  const auto* const found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                         [&](const auto& known) { return known.first == name; });
  require(found != kDtypes.end(), "the dtype " + name + " is not known here");
  return found->second;
}

std::string name_of(torch::ScalarType dtype) {
  const auto* const found = std::find_if(kDtypes.begin(), kDtypes.end(),
                                         [&](const auto& known) { return known.second == dtype; });
  require(found != kDtypes.end(), std::string("no dtype of the file is ") + torch::toString(dtype));
  return std::string(found->first);
}

torch::Tensor tensor_of(const StoredTensor& stored) {
  torch::Tensor tensor = torch::empty(stored.shape, dtype_of(stored.dtype));
  std::copy(stored.bytes.begin(), stored.bytes.end(),
            static_cast<char*>(tensor.mutable_data_ptr()));
  return tensor;
}

/// By the size of their elements, the largest first: all begin at multiples of it.
std::vector<std::pair<std::string, torch::Tensor>> in_order(const TensorMap& tensors) {
  std::vector<std::pair<std::string, torch::Tensor>> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& one, const auto& other) {
    return one.second.element_size() > other.second.element_size();
  });
  return ordered;
}

}  // namespace

Saved load(const std::filesystem::path& file) {
  const std::string content = read_file(file);
  try {
    StoredFile stored = parse_safetensors(content);
    Saved saved = {.tensors = {}, .about = std::move(stored.about)};
    for (const StoredTensor& tensor : stored.tensors) {
      saved.tensors.emplace(tensor.name, tensor_of(tensor));
    }
    return saved;
  } catch (const std::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
}

void save(const std::filesystem::path& file, const Saved& saved) {
  json header = {{StoredFile::kMetadata, {{StoredFile::kAbout, saved.about.dump()}}}};
  std::string data;
  for (const auto& [name, tensor] : in_order(saved.tensors)) {
    const torch::Tensor plain = tensor.detach().cpu().contiguous();
    const std::size_t begin = data.size();
    data.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    header[name] = {{"dtype", name_of(plain.scalar_type())},
                    {"shape", plain.sizes().vec()},
                    {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string content(sizeof(length), '\0');
  std::memcpy(content.data(), &length, sizeof(length));
  write_whole(file, content + text + data);
}

}  // namespace denoise
