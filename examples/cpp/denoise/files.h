// Files as a whole: read at once, and written so that there is never half of one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace denoise {

std::string read_file(const std::filesystem::path& file);

/// Writes a file beside the wanted one, then puts it in its place.
void write_whole(const std::filesystem::path& file, std::string_view content);

}  // namespace denoise
