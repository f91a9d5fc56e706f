// A safetensors file: the length of its header in 8 bytes, the header as JSON, then all data
// without a gap. Numbers are little endian, as they are in memory.
#include "safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "files.h"

namespace denoise {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr const char* kMetadata = "__metadata__";
constexpr const char* kAbout = "about";
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

torch::Tensor tensor_of(const std::string& name, const json& entry, std::string_view data) {
  const torch::ScalarType dtype = dtype_of(entry.at("dtype"));
  const auto shape = entry.at("shape").get<std::vector<std::int64_t>>();
  auto size = static_cast<double>(torch::elementSize(dtype));  // no shape is too large for a double
  for (const std::int64_t length : shape) {
    require(length >= 0, name + " has a length below 0 in its shape");
    size *= static_cast<double>(length);
  }
  require(size == static_cast<double>(data.size()), name + " has not the bytes of its shape");
  torch::Tensor tensor = torch::empty(shape, dtype);
  std::copy(data.begin(), data.end(), static_cast<char*>(tensor.mutable_data_ptr()));
  return tensor;
}

/// All tensors, which lie one behind the other in the data.
TensorMap tensors_of(const json& header, std::string_view data) {
  using Range = std::pair<std::size_t, std::size_t>;
  std::vector<std::pair<Range, std::string>> parts;
  for (const auto& [name, entry] : header.items()) {
    if (name != kMetadata) parts.emplace_back(entry.at("data_offsets").get<Range>(), name);
  }
  std::sort(parts.begin(), parts.end());
  TensorMap tensors;
  std::size_t position = 0;
  for (const auto& [range, name] : parts) {
    const auto [begin, end] = range;
    require(begin == position && begin <= end, name + " does not begin where the one before ends");
    require(end <= data.size(), "was cut off in " + name);
    tensors.emplace(name, tensor_of(name, header.at(name), data.substr(begin, end - begin)));
    position = end;
  }
  require(position == data.size(), "has more data than tensors");
  return tensors;
}

Saved parse(std::string_view content) {
  std::uint64_t length = 0;
  require(content.size() >= sizeof(length), "was cut off before its header");
  std::memcpy(&length, content.data(), sizeof(length));
  content.remove_prefix(sizeof(length));
  require(length <= content.size(), "is no safetensors file, or was cut off in its header");
  const json header = json::parse(content.substr(0, length));
  require(header.contains(kMetadata) && header[kMetadata].contains(kAbout),
          "was not written by tautstring_tasks");
  return {.tensors = tensors_of(header, content.substr(length)),
          .about = json::parse(header[kMetadata][kAbout].get<std::string>())};
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
    return parse(content);
  } catch (const std::exception& error) {
    throw std::runtime_error(file.string() + ": " + error.what());
  }
}

void save(const std::filesystem::path& file, const Saved& saved) {
  json header = {{kMetadata, {{kAbout, saved.about.dump()}}}};
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
