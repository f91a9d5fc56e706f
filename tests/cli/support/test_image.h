// Images created and inspected by libvips itself, not by the code under test.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tautstring::cli::test {

enum class Depth { bits8, bits16, floating };

struct TestImage {
  int width = 0;
  int height = 0;
  int bands = 0;
  Depth depth = Depth::bits8;
  std::vector<float> values;  // (height, width, bands)
};

/// Fixed pseudo-random values over the whole range of the pixel type (floating
/// point: 0 to 1), with an edge in the middle.
[[nodiscard]] TestImage make_image(int width, int height, int bands, Depth depth = Depth::bits8);

/// Writes in the format of the file name. `exif_orientation` 0: none.
void write_image(const TestImage& image, const std::string& path, int exif_orientation = 0);

[[nodiscard]] TestImage read_image(const std::string& path);

/// The EXIF orientation in a file; 1 if there is none.
[[nodiscard]] int read_orientation(const std::string& path);

/// An uncompressed grey 8-bit TIFF with its directory before its pixels. It contains only `rows`
/// rows of pixels.
[[nodiscard]] std::string tiff_bytes(int width, int height, int rows);

/// A grey TIFF of 4 x 3 pixels, all bytes of which are 0, that says of its
/// samples that they have `bits` bits and the SampleFormat `format`.
[[nodiscard]] std::string tiff_of_samples(int bits, int format);

/// The bytes of the colour profile that a file carries.
[[nodiscard]] std::string read_profile(const std::string& path);

/// Writes an image with a colour profile (sRGB).
void write_image_with_profile(const TestImage& image, const std::string& path);

/// Writes an RGB image converted to CMYK.
void write_cmyk_image(const TestImage& image, const std::string& path);

/// Writes a TIFF or an animated WebP file whose two pages are the upper and the lower half.
void write_two_pages(const TestImage& image, const std::string& path);

/// Writes an animated PNG of this many frames, the first of which is its still
/// image.
void write_animated_png(const TestImage& image, const std::string& path, std::uint32_t frames);

}  // namespace tautstring::cli::test
