#include "files.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace denoise {

std::string read_file(const std::filesystem::path& file) {
  std::ifstream opened(file, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(opened), {}};
  if (!opened) throw std::runtime_error(file.string() + ": cannot be read");
  return content;
}

void write_whole(const std::filesystem::path& file, std::string_view content) {
  std::filesystem::create_directories(file.parent_path());
  const std::filesystem::path partial =
      file.parent_path() / ("." + file.filename().string() + ".partial");
  std::ofstream opened(partial, std::ios::binary);
  opened.write(content.data(), static_cast<std::streamsize>(content.size()));
  opened.close();
  if (!opened) throw std::runtime_error(partial.string() + ": cannot be written");
  std::filesystem::rename(partial, file);
}

}  // namespace denoise
