// Fuzzes how the command reads and writes images. A file is read or rejected with a Failure. An
// image that was read has the size it states, and is the same after it is written as TIFF, which
// supports all pixel types, and read again. Files that decompress to more than a few pixels are
// skipped: they test nothing more. (The decoders of libvips are not tested; it is built without
// coverage.)
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <vips/vips8>

#include "errors.h"
#include "file_format.h"
#include "image_io.h"
#include "support/require.h"

namespace {

using tautstring::cli::Image;
using tautstring::cli::Notes;
using tautstring::fuzz::require;

constexpr double kMostPixels = 1 << 16;

/// Reads only the header. A file without a readable header is rejected at once.
bool is_small(std::span<const std::byte> bytes) {
  if (!tautstring::cli::is_image(bytes)) return true;
  try {
    const auto image = vips::VImage::new_from_buffer(bytes.data(), bytes.size(), "");
    return static_cast<double>(image.width()) * image.height() * image.bands() <= kMostPixels;
  } catch (const vips::VError&) {
    vips_error_clear();
    return true;
  }
}

void check_round_trip(const Image& image) {
  Notes notes;
  const auto* const tiff =
      tautstring::cli::format_of_name(tautstring::cli::image_formats(), "tiff");
  const std::vector<std::byte> written = tautstring::cli::encode_image(image, *tiff, 90, notes);
  const Image again = tautstring::cli::decode_image(written, "again", notes);
  require(again.width == image.width && again.height == image.height);
  require(again.bands == image.bands && again.bits == image.bits);
  require(again.pixels == image.pixels);
}

void read(std::span<const std::byte> bytes) {
  Notes notes;
  try {
    const Image image = tautstring::cli::decode_image(bytes, "fuzzed", notes);
    require(image.width > 0 && image.height > 0 && image.bands >= 1 && image.bands <= 4);
    const auto size =
        std::size_t(image.width) * std::size_t(image.height) * std::size_t(image.bands);
    require(image.pixels.size() == size);
    check_round_trip(image);
  } catch (const tautstring::cli::Failure& failure) {
    // Rejected, as expected; but an image that was read can always be written as TIFF.
    require(failure.code() == tautstring::cli::ExitCode::input);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const tautstring::cli::ImageLibrary library;
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes, size));
  if (is_small(all)) read(all);
  return 0;
}
