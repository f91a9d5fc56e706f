// Fuzzes how the denoising example reads safetensors files. A file is rejected with a
// runtime_error, or its tensors cover all of its data, each with as many bytes as its shape
// requires.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "stored_tensors.h"
#include "support/require.h"

namespace {

using tautstring::fuzz::require;

void check(const denoise::StoredFile& file, std::string_view content) {
  std::size_t size = 0;
  for (const denoise::StoredTensor& tensor : file.tensors) size += tensor.bytes.size();
  require(size <= content.size());
  const char* next = content.data() + content.size() - size;
  for (const denoise::StoredTensor& tensor : file.tensors) {
    require(tensor.bytes.data() == next);
    next += tensor.bytes.size();
    const bool is_empty =
        std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    require(is_empty == tensor.bytes.empty());
    for (const std::int64_t length : tensor.shape) {
      require(length >= 0);
      if (!is_empty) require(tensor.bytes.size() % static_cast<std::size_t>(length) == 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(bytes), size);
  try {
    check(denoise::parse_safetensors(content), content);
  } catch (const std::runtime_error&) {
    // rejected, as expected
  }
  return 0;
}
