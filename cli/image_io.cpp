// Images through libvips. Files are read and written as a whole, in memory: so pipes need no
// special code, no file name can be mistaken for libvips' option syntax, and only output.h writes
// to disk.
#include "image_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <vips/vips8>

#include "errors.h"
#include "image_probe.h"
#include "input.h"
#include "text.h"

namespace tautstring::cli {

struct ImageHeader {
  vips::VImage fields;  // one pixel that carries the metadata
  VipsInterpretation interpretation = VIPS_INTERPRETATION_sRGB;
  double x_resolution = 1;
  double y_resolution = 1;
};

namespace {

using vips::VImage;

constexpr std::array<std::string_view, 1> kPngExtensions = {".png"};
constexpr std::array<std::string_view, 2> kJpegExtensions = {".jpg", ".jpeg"};
constexpr std::array<std::string_view, 2> kTiffExtensions = {".tif", ".tiff"};
constexpr std::array<std::string_view, 1> kWebpExtensions = {".webp"};
constexpr std::array<FileFormat, 4> kFormats = {{{"png", kPngExtensions},
                                                 {"jpg", kJpegExtensions},
                                                 {"tiff", kTiffExtensions},
                                                 {"webp", kWebpExtensions}}};

/// libvips can read many more formats than this command supports, some of them through large and
/// less tested libraries. Only these loaders are allowed.
constexpr std::array<std::string_view, 4> kLoaders = {
    "VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadTiffBuffer",
    "VipsForeignLoadWebpBuffer"};

/// The most values (pixels times bands) of one image; they take 8 GiB in memory.
constexpr std::int64_t kMostValues = std::int64_t{1} << 31;

void drop_message(const char* /*domain*/, GLogLevelFlags /*level*/, const char* /*message*/,
                  void* /*data*/) {}

/// libvips collects one line per event; the first one says most.
std::string first_line(const std::string& text) {
  return printable(text.substr(0, std::min(text.find('\n'), text.size())));
}

std::string take_error(const vips::VError& error) {
  std::string message = first_line(error.what());
  vips_error_clear();
  return message.empty() ? "unknown error of libvips" : message;
}

/// A worker thread of libvips may fail without any call reporting it, so the error buffer is
/// checked.
void check_no_error_was_left() {
  if (*vips_error_buffer() != '\0') throw vips::VError();
}

bool is_known_colour(const VImage& image) {
  switch (image.interpretation()) {
    case VIPS_INTERPRETATION_MULTIBAND:
    case VIPS_INTERPRETATION_B_W:
    case VIPS_INTERPRETATION_GREY16:
    case VIPS_INTERPRETATION_sRGB:
    case VIPS_INTERPRETATION_RGB:
    case VIPS_INTERPRETATION_RGB16:
    case VIPS_INTERPRETATION_scRGB: return image.bands() <= 4;
    default: return false;
  }
}

FormatError unsupported_pixels(const std::string& type) {
  constexpr const char* kSupported = "unsigned integers of up to 16 bits and float32 are";
  FormatError error(fmt::format("{} pixels are not supported ({})", type, kSupported));
  return error;
}

int bits_of(const VImage& image) {
  switch (image.format()) {
    case VIPS_FORMAT_UCHAR: return 8;
    case VIPS_FORMAT_USHORT: return 16;
    case VIPS_FORMAT_FLOAT: return 32;
    default: throw unsupported_pixels(vips_enum_nick(VIPS_TYPE_BAND_FORMAT, image.format()));
  }
}

std::string name_of(const SampleType& type) {
  const auto name = [&type] {
    switch (type.kind) {
      case SampleKind::unsigned_integer: return "uint";
      case SampleKind::signed_integer: return "int";
      case SampleKind::floating: return "float";
      case SampleKind::complex_integer: return "complex int";
      case SampleKind::complex_floating: return "complex";
    }
    return "unknown";
  };
  return fmt::format("{}{}", name(), type.bits);
}

/// libvips reports TIFF files with some sample types like damaged ones, so the type is checked
/// first.
void check_sample_type(std::span<const std::byte> bytes) {
  const std::optional<SampleType> type = tiff_sample_type(bytes);
  if (!type) return;
  const bool is_supported = type->kind == SampleKind::floating
                                ? type->bits == 32
                                : type->kind == SampleKind::unsigned_integer && type->bits <= 16;
  if (!is_supported) throw unsupported_pixels(name_of(*type));
}

void check_size(const VImage& image) {
  const std::int64_t count = std::int64_t{image.width()} * image.height() * image.bands();
  if (count <= kMostValues) return;
  throw FormatError(
      fmt::format("the image has {} x {} pixels of {} bands; at most {} values are supported",
                  image.width(), image.height(), image.bands(), kMostValues));
}

void check_colour(const VImage& image) {
  if (is_known_colour(image)) return;
  throw FormatError(fmt::format(
      "{} bands of {} are not supported (grey and RGB, each with or without alpha, are)",
      image.bands(), vips_enum_nick(VIPS_TYPE_INTERPRETATION, image.interpretation())));
}

/// Copies the fields that describe the picture, not those that describe the layout of pixels (every
/// image has those).
void* copy_field(VipsImage* /*from*/, const char* name, GValue* value, void* to) {
  auto* const target = static_cast<VipsImage*>(to);
  if (vips_image_get_typeof(target, name) == 0) vips_image_set(target, name, value);
  return nullptr;
}

void copy_fields(const VImage& from, const VImage& to) {
  vips_image_map(from.get_image(), copy_field, to.get_image());
}

std::shared_ptr<const ImageHeader> header_of(const VImage& image) {
  auto header = std::make_shared<ImageHeader>();
  header->fields = VImage::new_matrix(1, 1);
  copy_fields(image, header->fields);
  header->interpretation = image.interpretation();
  header->x_resolution = image.xres();
  header->y_resolution = image.yres();
  return header;
}

struct FreeWithGlib {
  void operator()(void* memory) const noexcept { g_free(memory); }
};

template <class Stored>
std::vector<float> to_float(const VImage& image) {
  std::size_t size = 0;
  const std::unique_ptr<void, FreeWithGlib> memory(image.write_to_memory(&size));
  check_no_error_was_left();
  const auto* const values = static_cast<const Stored*>(memory.get());
  return std::vector<float>(values, values + size / sizeof(Stored));
}

std::vector<float> pixels_of(const VImage& image) {
  switch (bits_of(image)) {
    case 8: return to_float<std::uint8_t>(image);
    case 16: return to_float<std::uint16_t>(image);
    default: return to_float<float>(image);
  }
}

VImage open_image(std::span<const std::byte> bytes) {
  if (!is_image(bytes)) {
    throw FormatError(fmt::format("it is damaged, or not an image of a known format ({})",
                                  names_of(image_formats())));
  }
  check_sample_type(bytes);
  return VImage::new_from_buffer(bytes.data(), bytes.size(), "",
                                 VImage::option()
                                     ->set("access", VIPS_ACCESS_SEQUENTIAL)
                                     ->set("fail_on", VIPS_FAIL_ON_TRUNCATED));
}

VImage turn_upright(const VImage& image) {
  if (vips_image_get_orientation(image.get_image()) <= 1) return image;
  const VImage complete = image.copy_memory();  // turning needs pixels in any order
  check_no_error_was_left();
  return complete.autorot();
}

Image decode(std::span<const std::byte> bytes, Notes& notes) {
  const VImage opened = open_image(bytes);
  check_colour(opened);
  check_size(opened);
  vips_error_clear();  // from here on, every error is about the pixels
  const int pages = vips_image_get_n_pages(opened.get_image());
  if (pages > 1) notes.push_back(fmt::format("only the first of {} pages is used", pages));
  const std::int64_t frames = png_animation_frames(bytes);
  if (frames > 1) {
    notes.push_back(
        fmt::format("only the still image is used, not its {} animation frames", frames));
  }
  const VImage upright = turn_upright(opened);
  Image image;
  image.width = upright.width();
  image.height = upright.height();
  image.bands = upright.bands();
  image.bits = bits_of(upright);
  image.pixels = pixels_of(upright);
  image.header = header_of(upright);
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (!std::all_of(image.pixels.begin(), image.pixels.end(), is_finite)) {
    throw FormatError("it has pixels that are NaN or infinite");
  }
  return image;
}

/// Rounds to nearest and clips.
template <class Stored>
std::vector<std::byte> to_integers(const std::vector<float>& pixels, float scale) {
  constexpr auto largest = static_cast<float>(std::numeric_limits<Stored>::max());
  std::vector<std::byte> bytes(pixels.size() * sizeof(Stored));
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto value =
        static_cast<Stored>(std::nearbyint(std::clamp(pixels[i] * scale, 0.0F, largest)));
    std::memcpy(&bytes[i * sizeof(Stored)], &value, sizeof(Stored));
  }
  return bytes;
}

std::vector<std::byte> stored_pixels(const Image& image, int bits) {
  if (bits == 32) {
    const auto bytes = std::as_bytes(std::span(image.pixels));
    return {bytes.begin(), bytes.end()};
  }
  return bits == 8 ? to_integers<std::uint8_t>(image.pixels, 255.0F / image.full_scale())
                   : to_integers<std::uint16_t>(image.pixels, 65535.0F / image.full_scale());
}

VipsBandFormat vips_format(int bits) {
  if (bits == 32) return VIPS_FORMAT_FLOAT;
  return bits == 8 ? VIPS_FORMAT_UCHAR : VIPS_FORMAT_USHORT;
}

VipsInterpretation interpretation_for(const Image& image, int bits) {
  if (bits == image.bits) return image.header->interpretation;
  return image.colour_bands() == 1 ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB;
}

/// A libvips image over `pixels`, which must stay in place.
VImage wrap(const Image& image, int bits, std::vector<std::byte>& pixels) {
  const VImage plain = VImage::new_from_memory(pixels.data(), pixels.size(), image.width,
                                               image.height, image.bands, vips_format(bits));
  VImage dressed = plain.copy(VImage::option()
                                  ->set("interpretation", interpretation_for(image, bits))
                                  ->set("xres", image.header->x_resolution)
                                  ->set("yres", image.header->y_resolution));
  copy_fields(image.header->fields, dressed);
  // The EXIF block still contains the camera's orientation, but the pixels are upright.
  if (vips_image_get_orientation(dressed.get_image()) > 1) dressed.set(VIPS_META_ORIENTATION, 1);
  return dressed;
}

vips::VOption* save_options(std::string_view format, const Image& image, int bits, int quality) {
  if (format == "png") return VImage::option()->set("bitdepth", bits);
  if (format == "jpg") return VImage::option()->set("Q", quality)->set("optimize_coding", true);
  if (format == "webp") {
    return VImage::option()->set("Q", quality)->set("lossless", quality == 100);
  }
  // A classic TIFF is limited to 4 GiB; compressed data may be a little larger than the pixels.
  constexpr std::size_t large = std::size_t{1} << 31;
  return VImage::option()
      ->set("compression", VIPS_FOREIGN_TIFF_COMPRESSION_LZW)
      ->set("bigtiff", image.pixels.size() * sizeof(float) > large);
}

int stored_bits(const Image& image, const FileFormat& format, Notes& notes) {
  const bool holds_all = format.name == "tiff";
  if (image.bits == 32 && !holds_all) {
    throw Failure(
        ExitCode::output,
        fmt::format("{} does not support floating point pixels; write tiff", format.name));
  }
  if (image.bits == 16 && !holds_all && format.name != "png") {
    notes.push_back(fmt::format("{} does not support 16 bits; the result has 8", format.name));
    return 8;
  }
  return image.bits;
}

std::vector<std::byte> save(const VImage& image, const FileFormat& format, vips::VOption* options) {
  void* memory = nullptr;
  std::size_t size = 0;
  const std::string suffix(format.extensions[0]);
  image.write_to_buffer(suffix.c_str(), &memory, &size, options);
  const std::unique_ptr<void, FreeWithGlib> owner(memory);
  const auto* const bytes = static_cast<const std::byte*>(memory);
  return {bytes, bytes + size};
}

}  // namespace

FormatTable image_formats() {
  return kFormats;
}

ImageLibrary::ImageLibrary() {
  g_log_set_default_handler(drop_message, nullptr);
  if (vips_init("tautstring") != 0) {
    throw Failure(ExitCode::unexpected, "cannot start libvips: " + first_line(vips_error_buffer()));
  }
  vips_block_untrusted_set(1);
  vips_cache_set_max(0);    // every image is used once
  vips_concurrency_set(1);  // decoders lose errors between threads
}

ImageLibrary::~ImageLibrary() {
  vips_shutdown();
}

float Image::full_scale() const noexcept {
  if (bits == 32) return 1.0F;
  return bits == 16 ? 65535.0F : 255.0F;
}

bool is_image(std::span<const std::byte> bytes) {
  const char* const loader = vips_foreign_find_load_buffer(bytes.data(), bytes.size());
  vips_error_clear();  // bytes that are not an image are reported in our own words
  return loader != nullptr && std::find(kLoaders.begin(), kLoaders.end(), loader) != kLoaders.end();
}

Image decode_image(std::span<const std::byte> bytes, const std::string& path, Notes& notes) {
  const auto fail = [&](const std::string& why) {
    return Failure(ExitCode::input, fmt::format("cannot read {}: {}", input_name(path), why));
  };
  try {
    return decode(bytes, notes);
  } catch (const FormatError& error) {
    throw fail(error.what());
  } catch (const vips::VError& error) {
    throw fail(fmt::format("the image is damaged or truncated ({})", take_error(error)));
  }
}

Image load_image(const std::string& path, Notes& notes) {
  return decode_image(read_input(path), path, notes);
}

std::vector<std::byte> encode_image(const Image& image, const FileFormat& format, int quality,
                                    Notes& notes) {
  const int bits = stored_bits(image, format, notes);
  std::vector<std::byte> pixels = stored_pixels(image, bits);
  try {
    VImage stored = wrap(image, bits, pixels);
    if (format.name == "jpg" && image.has_alpha()) {
      notes.emplace_back("jpg does not support alpha; the image is placed on white");
      stored = stored.flatten(VImage::option()->set("background", 255));
    }
    return save(stored, format, save_options(format.name, image, bits, quality));
  } catch (const vips::VError& error) {
    throw Failure(ExitCode::output,
                  fmt::format("cannot make the {} file: {}", format.name, take_error(error)));
  }
}

}  // namespace tautstring::cli
