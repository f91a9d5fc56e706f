// Reading whole files and standard input.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tautstring::cli {

/// How a file is called on the command line when it is a pipe.
inline constexpr const char* kStandardStream = "-";

/// "'photo.png'" or "standard input", for messages.
[[nodiscard]] std::string input_name(const std::string& path);

/// All bytes of a file, or of standard input for "-". Throws Failure.
[[nodiscard]] std::vector<std::byte> read_input(const std::string& path);

}  // namespace tautstring::cli
