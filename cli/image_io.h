// Images in memory; reading and writing them through libvips. Only image_io.cpp uses libvips.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "file_format.h"

namespace tautstring::cli {

/// PNG (the default for standard output), JPEG, TIFF, WebP.
[[nodiscard]] FormatTable image_formats();

/// Initializes libvips and shuts it down; images can only be read and written during the lifetime
/// of this object. libvips prints nothing itself.
class ImageLibrary {
 public:
  ImageLibrary();
  ImageLibrary(const ImageLibrary&) = delete;
  ImageLibrary& operator=(const ImageLibrary&) = delete;
  ~ImageLibrary();
};

/// The metadata of a file: colour profile, EXIF, resolution.
struct ImageHeader;

/// Pixels as float32, whatever their type in the file: (height, width, bands); integers keep their
/// values.
struct Image {
  int width = 0;
  int height = 0;
  int bands = 0;  // 1 grey, 2 grey + alpha, 3 RGB, 4 RGB + alpha
  int bits = 8;   // 8 or 16: integers; 32: floating point
  std::vector<float> pixels;
  std::shared_ptr<const ImageHeader> header;

  [[nodiscard]] bool has_alpha() const noexcept { return bands % 2 == 0; }
  [[nodiscard]] int colour_bands() const noexcept { return has_alpha() ? bands - 1 : bands; }

  /// The largest value of the pixel type (1 for floating point): the unit of --lam.
  [[nodiscard]] float full_scale() const noexcept;
};

using Notes = std::vector<std::string>;

/// Whether the bytes begin like an image of a known format.
[[nodiscard]] bool is_image(std::span<const std::byte> bytes);

/// Reads the bytes of the file `path` and turns the image upright. Adds to `notes` what the user
/// should know. Throws Failure.
[[nodiscard]] Image decode_image(std::span<const std::byte> bytes, const std::string& path,
                                 Notes& notes);

/// The same from a file ("-": standard input).
[[nodiscard]] Image load_image(const std::string& path, Notes& notes);

/// The bytes of an image file. `quality` (1 to 100) is for JPEG and WebP; for WebP, 100 means
/// lossless. Throws Failure.
[[nodiscard]] std::vector<std::byte> encode_image(const Image& image, const FileFormat& format,
                                                  int quality, Notes& notes);

}  // namespace tautstring::cli
