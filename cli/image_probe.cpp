// Walks the first directory of a TIFF file and the chunks of a PNG file.
#include "image_probe.h"

#include <string_view>

#include "text.h"

namespace tautstring::cli {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1A\n";

/// Unsigned integers at any offset of a file, in its byte order. A read past the end returns an
/// empty value.
class Fields {
 public:
  Fields(Bytes bytes, bool big_endian) : bytes_(bytes), big_endian_(big_endian) {}

  [[nodiscard]] std::optional<std::uint64_t> at(std::uint64_t offset, std::size_t size) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t place = offset + (big_endian_ ? i : size - 1 - i);
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[place]);
    }
    return value;
  }

 private:
  Bytes bytes_;
  bool big_endian_;
};

/// The sizes in which TIFF and BigTIFF differ.
struct TiffLayout {
  std::size_t offset_size;  // of an offset, and of the value field of an entry
  std::size_t count_size;   // of the number of entries
};
constexpr TiffLayout kClassicTiff = {4, 2};
constexpr TiffLayout kBigTiff = {8, 8};

constexpr std::uint64_t kBitsPerSample = 258;
constexpr std::uint64_t kSampleFormat = 339;

/// The bytes of one value of a TIFF field type; 0: not an unsigned integer.
std::size_t size_of_type(std::uint64_t type) {
  switch (type) {
    case 1: return 1;   // BYTE
    case 3: return 2;   // SHORT
    case 4: return 4;   // LONG
    case 16: return 8;  // LONG8
    default: return 0;
  }
}

/// The first value of the directory entry at `entry`. In images that libvips reads, all samples
/// have the same type.
std::optional<std::uint64_t> first_value(const Fields& fields, const TiffLayout& layout,
                                         std::uint64_t entry) {
  const auto type = fields.at(entry + 2, 2);
  const auto count = fields.at(entry + 4, layout.offset_size);
  if (!type || !count) return std::nullopt;
  const std::size_t size = size_of_type(*type);
  if (size == 0 || *count == 0) return std::nullopt;
  const std::uint64_t place = entry + 4 + layout.offset_size;
  // Values that fit into the entry are stored in it.
  if (*count <= layout.offset_size / size) return fields.at(place, size);
  const auto elsewhere = fields.at(place, layout.offset_size);
  return elsewhere ? fields.at(*elsewhere, size) : std::nullopt;
}

std::optional<SampleType> first_sample_type(const Fields& fields, const TiffLayout& layout) {
  const auto directory = fields.at(layout.offset_size, layout.offset_size);
  if (!directory) return std::nullopt;
  const auto count = fields.at(*directory, layout.count_size);
  if (!count) return std::nullopt;
  std::uint64_t bits = 1;  // the defaults of the format
  auto kind = static_cast<std::uint64_t>(SampleKind::unsigned_integer);
  std::uint64_t entry = *directory + layout.count_size;
  const std::uint64_t entry_size = 4 + 2 * layout.offset_size;
  for (std::uint64_t i = 0; i < *count; ++i, entry += entry_size) {
    const auto tag = fields.at(entry, 2);
    if (!tag) return std::nullopt;
    if (*tag != kBitsPerSample && *tag != kSampleFormat) continue;
    const auto value = first_value(fields, layout, entry);
    if (!value) return std::nullopt;
    (*tag == kBitsPerSample ? bits : kind) = *value;
  }
  constexpr std::uint64_t most_bits = 1024;
  if (bits > most_bits) return std::nullopt;
  const bool is_known = kind >= 1 && kind <= 6 && kind != 4;  // 4: undefined, read as integers
  return SampleType{is_known ? static_cast<SampleKind>(kind) : SampleKind::unsigned_integer,
                    static_cast<int>(bits)};
}

}  // namespace

std::optional<SampleType> tiff_sample_type(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  const bool big_endian = text.starts_with("MM");
  if (!big_endian && !text.starts_with("II")) return std::nullopt;
  const Fields fields(bytes, big_endian);
  const auto version = fields.at(2, 2);
  if (version == 42) return first_sample_type(fields, kClassicTiff);
  if (version == 43) return first_sample_type(fields, kBigTiff);
  return std::nullopt;
}

std::int64_t png_animation_frames(Bytes bytes) {
  if (!as_text(bytes).starts_with(kPngMagic)) return 0;
  const Fields fields(bytes, true);
  std::uint64_t chunk = kPngMagic.size();
  while (const auto length = fields.at(chunk, 4)) {
    if (!fields.at(chunk + 4, 4)) return 0;
    const std::string_view type = as_text(bytes.subspan(chunk + 4, 4));
    const std::uint64_t data = chunk + 8;
    if (type == "acTL") return static_cast<std::int64_t>(fields.at(data, 4).value_or(0));
    if (type == "IDAT") return 0;
    chunk = data + *length + 4;  // the checksum follows the data
  }
  return 0;
}

}  // namespace tautstring::cli
