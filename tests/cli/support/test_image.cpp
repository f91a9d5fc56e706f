// Test images through libvips.
#include "support/test_image.h"

#include <cstdlib>
#include <fstream>
#include <random>
#include <vips/vips8>

namespace tautstring::cli::test {
namespace {

using vips::VImage;

/// Starts libvips for the test process, once.
void start_vips() {
  static const int started = vips_init("tautstring_cli_test");
  if (started != 0) std::abort();
  vips_cache_set_max(0);  // a file that was replaced must be read again
}

VipsBandFormat format_of(Depth depth) {
  switch (depth) {
    case Depth::bits8: return VIPS_FORMAT_UCHAR;
    case Depth::bits16: return VIPS_FORMAT_USHORT;
    case Depth::floating: return VIPS_FORMAT_FLOAT;
  }
  std::abort();
}

Depth depth_of(const VImage& image) {
  if (image.format() == VIPS_FORMAT_UCHAR) return Depth::bits8;
  return image.format() == VIPS_FORMAT_USHORT ? Depth::bits16 : Depth::floating;
}

VipsInterpretation interpretation_of(const TestImage& image) {
  const bool grey = image.bands < 3;
  if (image.depth == Depth::bits16) {
    return grey ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16;
  }
  if (grey) return VIPS_INTERPRETATION_B_W;
  return image.depth == Depth::bits8 ? VIPS_INTERPRETATION_sRGB : VIPS_INTERPRETATION_scRGB;
}

VImage to_vips(const TestImage& image) {
  start_vips();
  auto* const data = const_cast<float*>(image.values.data());
  return VImage::new_from_memory(data, image.values.size() * sizeof(float), image.width,
                                 image.height, image.bands, VIPS_FORMAT_FLOAT)
      .cast(format_of(image.depth))
      .copy(VImage::option()->set("interpretation", interpretation_of(image)));
}

/// The header and the directory of a grey TIFF without compression.
std::string tiff_header(int width, int height, int bits, int format) {
  std::string file("II*\0\x08\0\0\0", 8);
  const auto append = [&file](std::uint32_t value, int size) {
    for (int i = 0; i < size; ++i) file += static_cast<char>(value >> (8 * i));
  };
  const auto w = static_cast<std::uint32_t>(width);
  const auto h = static_cast<std::uint32_t>(height);
  const auto b = static_cast<std::uint32_t>(bits);
  const auto row_bytes = w * b / 8;
  constexpr std::uint32_t lists_at = 8 + 2 + 10 * 12 + 4;
  struct Tag {
    std::uint32_t number;
    std::uint32_t count;
    std::uint32_t value;
  };
  // Size, bits, no compression, black is 0, strips of one row: where, bands, rows, bytes,
  // type of the samples.
  const std::vector<Tag> tags = {{256, 1, w},
                                 {257, 1, h},
                                 {258, 1, b},
                                 {259, 1, 1},
                                 {262, 1, 1},
                                 {273, h, lists_at},
                                 {277, 1, 1},
                                 {278, 1, 1},
                                 {279, h, lists_at + 4 * h},
                                 {339, 1, static_cast<std::uint32_t>(format)}};
  append(static_cast<std::uint32_t>(tags.size()), 2);
  for (const Tag& tag : tags) {
    append(tag.number, 2);
    append(4, 2);  // 32-bit numbers
    append(tag.count, 4);
    append(tag.value, 4);
  }
  append(0, 4);
  for (std::uint32_t y = 0; y < h; ++y) append(lists_at + 8 * h + y * row_bytes, 4);
  for (std::uint32_t y = 0; y < h; ++y) append(row_bytes, 4);
  return file;
}

std::string to_png(const TestImage& image) {
  void* memory = nullptr;
  std::size_t size = 0;
  to_vips(image).write_to_buffer(".png", &memory, &size);
  const std::string file(static_cast<const char*>(memory), size);
  g_free(memory);
  return file;
}

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

/// A chunk of a PNG file: length, type, data, and the CRC-32 of the latter two.
std::string png_chunk(const std::string& type, const std::string& data) {
  std::uint32_t crc = ~0U;
  for (const char c : type + data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0);
  }
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(~crc);
}

}  // namespace

TestImage make_image(int width, int height, int bands, Depth depth) {
  const float largest = depth == Depth::bits8 ? 255.0F : depth == Depth::bits16 ? 65535.0F : 1.0F;
  std::mt19937 random(7);
  TestImage image{width, height, bands, depth, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width * bands; ++x) {
      const float base = x < width * bands / 2 ? 0.2F : 0.7F;
      const float noise = static_cast<float>(random() % 1000) / 5000.0F;
      const float value = (base + noise) * largest;
      image.values.push_back(
          depth == Depth::floating ? value : static_cast<float>(static_cast<int>(value)));
    }
  }
  return image;
}

void write_image(const TestImage& image, const std::string& path, int exif_orientation) {
  VImage written = to_vips(image);
  if (exif_orientation != 0) written.set("orientation", exif_orientation);
  written.write_to_file(path.c_str());
}

TestImage read_image(const std::string& path) {
  start_vips();
  const VImage file = VImage::new_from_file(path.c_str());
  TestImage image{file.width(), file.height(), file.bands(), depth_of(file), {}};
  std::size_t size = 0;
  void* const memory = file.cast(VIPS_FORMAT_FLOAT).write_to_memory(&size);
  const auto* const values = static_cast<const float*>(memory);
  image.values.assign(values, values + size / sizeof(float));
  g_free(memory);
  return image;
}

int read_orientation(const std::string& path) {
  start_vips();
  return vips_image_get_orientation(VImage::new_from_file(path.c_str()).get_image());
}

std::string tiff_bytes(int width, int height, int rows) {
  const std::string header = tiff_header(width, height, 8, 1);
  return header +
         std::string(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows), 'x');
}

std::string tiff_of_samples(int bits, int format) {
  const std::string header = tiff_header(4, 3, bits, format);
  return header + std::string(static_cast<std::size_t>(4 * 3 * bits / 8), '\0');
}

std::string read_profile(const std::string& path) {
  start_vips();
  const VImage file = VImage::new_from_file(path.c_str());
  if (file.get_typeof("icc-profile-data") == 0) return "";
  std::size_t size = 0;
  const auto* const data = static_cast<const char*>(file.get_blob("icc-profile-data", &size));
  return {data, size};
}

void write_image_with_profile(const TestImage& image, const std::string& path) {
  to_vips(image).write_to_file(path.c_str(), VImage::option()->set("profile", "srgb"));
}

void write_cmyk_image(const TestImage& image, const std::string& path) {
  to_vips(image).colourspace(VIPS_INTERPRETATION_CMYK).write_to_file(path.c_str());
}

void write_animated_png(const TestImage& image, const std::string& path, std::uint32_t frames) {
  std::string file = to_png(image);
  const std::string size = big_endian(static_cast<std::uint32_t>(image.width)) +
                           big_endian(static_cast<std::uint32_t>(image.height));
  const std::string rest_of_control = std::string(8, '\0') + std::string("\0\1\0\2\0\0", 6);
  const auto control = [&](std::uint32_t sequence) {
    return png_chunk("fcTL", big_endian(sequence) + size + rest_of_control);
  };
  const std::size_t first_pixels = file.find("IDAT") - 4;
  const std::string end = file.substr(file.rfind("IEND") - 4);
  const std::string pixels = file.substr(first_pixels, file.size() - end.size() - first_pixels);
  // libvips writes small images as one chunk IDAT; the other frames repeat it.
  const std::string data = pixels.substr(8, pixels.size() - 12);
  std::string animated = file.substr(0, first_pixels) +
                         png_chunk("acTL", big_endian(frames) + big_endian(0)) + control(0) +
                         pixels;
  for (std::uint32_t frame = 1; frame < frames; ++frame) {
    animated += control(2 * frame - 1) + png_chunk("fdAT", big_endian(2 * frame) + data);
  }
  std::ofstream(path, std::ios::binary) << animated + end;
}

void write_two_pages(const TestImage& image, const std::string& path) {
  VImage pages = to_vips(image);
  pages.set("page-height", image.height / 2);
  pages.write_to_file(path.c_str());
}

}  // namespace tautstring::cli::test
