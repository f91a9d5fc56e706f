// Folders of colour images, read with libvips.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace denoise {

inline constexpr int kColours = 3;

/// height x width pixels of red, green and blue.
struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
};

struct PictureFolder {
  std::vector<Picture> pictures;  // sorted by name
  std::string sha256;             // of names and contents, as in tautstring_tasks
};

PictureFolder read_folder(const std::filesystem::path& folder);

}  // namespace denoise
