// Properties of image files that libvips does not report. Reads a few header fields; trusts nothing
// in the file and never fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tautstring::cli {

/// How a TIFF file stores one sample. The values are those of its tag SampleFormat.
enum class SampleKind : std::uint8_t {
  unsigned_integer = 1,
  signed_integer = 2,
  floating = 3,
  complex_integer = 5,
  complex_floating = 6,
};

struct SampleType {
  SampleKind kind = SampleKind::unsigned_integer;
  int bits = 0;

  bool operator==(const SampleType&) const = default;
};

/// The sample type of the first image of a TIFF file (also BigTIFF). Empty if the bytes are not a
/// TIFF file or its first directory cannot be read.
[[nodiscard]] std::optional<SampleType> tiff_sample_type(std::span<const std::byte> bytes);

/// The number of animation frames of a PNG file, from the chunk acTL before its pixels; 0 if it is
/// not animated or the bytes are not a PNG file.
[[nodiscard]] std::int64_t png_animation_frames(std::span<const std::byte> bytes);

}  // namespace tautstring::cli
