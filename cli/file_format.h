// File formats by name and by file extension: one table for images, one for signals, and the same
// rules for both.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tautstring::cli {

struct FileFormat {
  std::string_view name;                         // as --format takes it
  std::span<const std::string_view> extensions;  // with their dot, in lower case
};

using FormatTable = std::span<const FileFormat>;

/// The format given by the extension of a file; null: none of the table.
[[nodiscard]] const FileFormat* format_of_path(FormatTable table,
                                               const std::filesystem::path& path);

/// The format with that name, as --format takes it; null: none of the table.
[[nodiscard]] const FileFormat* format_of_name(FormatTable table, std::string_view name);

/// The format of an output: given by the file's extension, else by `chosen`; `fallback` is for
/// standard output. Throws Failure if the two contradict each other or neither is given.
[[nodiscard]] const FileFormat& output_format(FormatTable table, const std::string& path,
                                              const FileFormat* chosen, const FileFormat& fallback);

/// "png, jpg, tiff or webp", for messages and help.
[[nodiscard]] std::string names_of(FormatTable table);

}  // namespace tautstring::cli
