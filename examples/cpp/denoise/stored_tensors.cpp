// A safetensors file: the length of its header in 8 bytes, the header as JSON, then all data
// without a gap. Numbers are little endian.
#include "stored_tensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace denoise {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little);

constexpr std::array<std::pair<std::string_view, std::int64_t>, 8> kElementSizes = {{{"F64", 8},
                                                                                     {"F32", 4},
                                                                                     {"F16", 2},
                                                                                     {"BF16", 2},
                                                                                     {"I64", 8},
                                                                                     {"I32", 4},
                                                                                     {"U8", 1},
                                                                                     {"BOOL", 1}}};

void require(bool is_met, const std::string& message) {
  if (!is_met) throw std::runtime_error(message);
}

std::int64_t element_size(const std::string& dtype) {
  const auto* const found = std::find_if(kElementSizes.begin(), kElementSizes.end(),
                                         [&](const auto& known) { return known.first == dtype; });
  require(found != kElementSizes.end(), "the dtype " + dtype + " is not known here");
  return found->second;
}

/// JSON's numbers may also be negative or fractions, which conversions let pass.
std::vector<std::int64_t> sizes_of(const json& list, const std::string& what) {
  const auto is_size = [](const json& entry) {
    return entry.is_number_unsigned() && std::in_range<std::int64_t>(entry.get<std::uint64_t>());
  };
  require(list.is_array() && std::all_of(list.begin(), list.end(), is_size),
          what + " must be whole numbers from 0 to 2^63 - 1");
  return list.get<std::vector<std::int64_t>>();
}

/// A tensor of the header, and where its bytes begin.
std::pair<std::int64_t, StoredTensor> tensor_of(const std::string& name, const json& entry,
                                                std::string_view data) {
  StoredTensor tensor = {.name = name,
                         .dtype = entry.at("dtype").get<std::string>(),
                         .shape = sizes_of(entry.at("shape"), "the shape of " + name),
                         .bytes = {}};
  const std::vector<std::int64_t> range =
      sizes_of(entry.at("data_offsets"), "data_offsets of " + name);
  require(range.size() == 2 && range[0] <= range[1], "data_offsets of " + name + " is no range");
  require(static_cast<std::size_t>(range[1]) <= data.size(), "was cut off in " + name);
  tensor.bytes = data.substr(static_cast<std::size_t>(range[0]),
                             static_cast<std::size_t>(range[1] - range[0]));
  std::int64_t size = element_size(tensor.dtype);
  for (const std::int64_t length : tensor.shape) {
    require(!__builtin_mul_overflow(size, length, &size), name + " is too large");
  }
  require(size == range[1] - range[0], name + " has not the bytes of its shape");
  return {range[0], std::move(tensor)};
}

std::vector<StoredTensor> tensors_of(const json& header, std::string_view data) {
  std::vector<std::pair<std::int64_t, StoredTensor>> placed;
  for (const auto& [name, entry] : header.items()) {
    if (name != StoredFile::kMetadata) placed.push_back(tensor_of(name, entry, data));
  }
  // Of two that begin at the same place the first is empty.
  std::sort(placed.begin(), placed.end(), [](const auto& one, const auto& other) {
    return std::pair(one.first, one.second.bytes.size()) <
           std::pair(other.first, other.second.bytes.size());
  });
  std::vector<StoredTensor> tensors;
  std::size_t position = 0;
  for (auto& [begin, tensor] : placed) {
    require(static_cast<std::size_t>(begin) == position,
            tensor.name + " does not begin where the one before ends");
    position += tensor.bytes.size();
    tensors.push_back(std::move(tensor));
  }
  require(position == data.size(), "has more data than tensors");
  return tensors;
}

StoredFile parse(std::string_view content) {
  std::uint64_t length = 0;
  require(content.size() >= sizeof(length), "was cut off before its header");
  std::memcpy(&length, content.data(), sizeof(length));
  content.remove_prefix(sizeof(length));
  require(length <= content.size(), "is no safetensors file, or was cut off in its header");
  const json header = json::parse(content.substr(0, length));
  require(header.contains(StoredFile::kMetadata) &&
              header[StoredFile::kMetadata].contains(StoredFile::kAbout),
          "was not written by tautstring_tasks");
  return {
      .tensors = tensors_of(header, content.substr(length)),
      .about = json::parse(header[StoredFile::kMetadata][StoredFile::kAbout].get<std::string>())};
}

}  // namespace

StoredFile parse_safetensors(std::string_view content) {
  try {
    return parse(content);
  } catch (const json::exception& error) {
    throw std::runtime_error(error.what());
  }
}

}  // namespace denoise
