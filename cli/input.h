// Reading whole files and standard input.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tautstring::cli {

/// How a file is called on the command line when it is a pipe.
inline constexpr const char* kStandardStream = "-";

/// The most bytes that are read from anything but a regular file: a pipe or a
/// device, standard input among them, may never end. The largest image that is
/// supported has this size with 16 bits and without compression.
inline constexpr std::size_t kPipeLimit = std::size_t{4} << 30;

/// Completes the help of an option that takes an input.
inline constexpr const char* kStandardInputHelp = "- for standard input (a pipe: up to 4 GiB)";

/// "'photo.png'" or "standard input", for messages.
[[nodiscard]] std::string input_name(const std::string& path);

/// All bytes of a file, or of standard input for "-". Throws Failure, also where
/// a pipe or device gives more than `pipe_limit` bytes.
[[nodiscard]] std::vector<std::byte> read_input(const std::string& path,
                                                std::size_t pipe_limit = kPipeLimit);

}  // namespace tautstring::cli
