// Reading whole files and standard input.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tautstring::cli {

/// The name of standard input and standard output on the command line.
inline constexpr const char* kStandardStream = "-";

/// The most bytes read from anything but a regular file: a pipe or a device, including standard
/// input, may never end. The largest supported image has this size at 16 bits without compression.
inline constexpr std::size_t kPipeLimit = std::size_t{4} << 30;

/// The end of the help text of an option that takes an input.
inline constexpr const char* kStandardInputHelp = "- for standard input (a pipe: up to 4 GiB)";

/// "'photo.png'" or "standard input", for messages.
[[nodiscard]] std::string input_name(const std::string& path);

/// All bytes of a file, or of standard input for "-". Throws Failure, also if a pipe or device
/// provides more than `pipe_limit` bytes.
[[nodiscard]] std::vector<std::byte> read_input(const std::string& path,
                                                std::size_t pipe_limit = kPipeLimit);

}  // namespace tautstring::cli
