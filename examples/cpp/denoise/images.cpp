#include "images.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vips/vips8>

#include "files.h"

namespace denoise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDigestSize = 32;

bool is_image(const fs::path& file) {
  static const std::set<std::string> suffixes = {".bmp", ".jpeg", ".jpg",  ".png",
                                                 ".ppm", ".tif",  ".tiff", ".webp"};
  std::string suffix = file.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return suffixes.contains(suffix);
}

/// The images of a folder, sorted by name.
std::vector<fs::path> images_of(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder)) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (is_image(entry.path())) files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    throw std::runtime_error(
        folder.string() +
        ": has no images; tasks/README.md says which images are needed, and how to render some");
  }
  std::sort(files.begin(), files.end());
  return files;
}

Picture decode(std::string_view content) {
  const vips::VImage opened =
      vips::VImage::new_from_buffer(content.data(), content.size(), "",
                                    vips::VImage::option()->set("fail_on", VIPS_FAIL_ON_TRUNCATED));
  const vips::VImage image = opened.autorot()
                                 .colourspace(VIPS_INTERPRETATION_sRGB)
                                 .extract_band(0, vips::VImage::option()->set("n", kColours))
                                 .cast(VIPS_FORMAT_UCHAR);
  std::size_t size = 0;
  const std::unique_ptr<void, decltype(&g_free)> memory(image.write_to_memory(&size), g_free);
  const auto* const pixels = static_cast<const std::uint8_t*>(memory.get());
  return {image.height(), image.width(), {pixels, pixels + size}};
}

/// SHA-256 by GLib, which libvips uses anyway.
class Hash {
 public:
  void add(std::string_view bytes) {
    g_checksum_update(sum_.get(), reinterpret_cast<const guchar*>(bytes.data()),
                      static_cast<gssize>(bytes.size()));
  }

  [[nodiscard]] std::string bytes() {
    std::array<guchar, kDigestSize> digest{};
    gsize size = digest.size();
    g_checksum_get_digest(sum_.get(), digest.data(), &size);
    return {digest.begin(), digest.end()};
  }

  [[nodiscard]] std::string text() { return g_checksum_get_string(sum_.get()); }

 private:
  std::unique_ptr<GChecksum, decltype(&g_checksum_free)> sum_{g_checksum_new(G_CHECKSUM_SHA256),
                                                              g_checksum_free};
};

}  // namespace

PictureFolder read_folder(const fs::path& folder) {
  if (VIPS_INIT("tautstring_denoise") != 0) throw std::runtime_error("cannot start libvips");
  PictureFolder read;
  Hash total;
  for (const fs::path& file : images_of(folder)) {
    const std::string content = read_file(file);
    try {
      read.pictures.push_back(decode(content));
    } catch (const vips::VError& error) {
      throw std::runtime_error(file.string() + ": cannot be read as an image: " + error.what());
    }
    Hash hash;
    hash.add(content);
    total.add(file.filename().string() + '\0');
    total.add(hash.bytes());
  }
  read.sha256 = total.text();
  return read;
}

}  // namespace denoise
