// Writing results. A file appears under its name complete or not at all, and an existing file is
// only replaced on request.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tautstring::cli {

enum class Overwrite { no, yes };
enum class Content { text, binary };

/// "'photo.png'" or "standard output", for messages.
[[nodiscard]] std::string output_name(const std::string& path);

/// Writes to standard output. Throws Failure, also if its reader is gone.
void write_stdout(std::string_view text);

/// Writes a file through a temporary one in the same folder, which is renamed when it is complete
/// and removed on failure or if the program is interrupted. Devices and pipes are written to
/// directly. Throws Failure.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes,
                Overwrite overwrite);

/// write_file, or write_stdout for "-". Binary data is not sent to a terminal: that is a Failure.
void write_output(const std::string& path, std::span<const std::byte> bytes, Overwrite overwrite,
                  Content content);

/// Throws Failure if write_file would refuse to replace an existing file: a check before the work
/// starts. (write_file itself checks without a race.)
void check_output(const std::string& path, Overwrite overwrite);

/// Whether there is something at `path` that write_file only replaces with Overwrite::yes.
[[nodiscard]] bool would_overwrite(const std::filesystem::path& path);

/// Creates the folder and its parents. Throws Failure.
void make_folders(const std::filesystem::path& folder);

}  // namespace tautstring::cli
