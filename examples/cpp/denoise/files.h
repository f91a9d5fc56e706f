// Whole files: read at once, and written so that there is never a partial one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace denoise {

std::string read_file(const std::filesystem::path& file);

/// Writes a temporary file next to the wanted one, then renames it.
void write_whole(const std::filesystem::path& file, std::string_view content);

}  // namespace denoise
