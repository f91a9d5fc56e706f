// Small helpers for text that users type and read.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tautstring::cli {

/// The number that the whole of `text` spells; inf and nan are numbers, and values too small for a
/// double are 0. Empty for anything else ("0.1x", "", " 1", "1e999").
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// The same for a whole number that fits an int.
[[nodiscard]] std::optional<int> parse_integer(std::string_view text);

/// `text` with control characters replaced, so that no file name and no cell of a table can control
/// the terminal.
[[nodiscard]] std::string printable(std::string_view text);

/// printable(), cut to a length that fits an error message.
[[nodiscard]] std::string excerpt(std::string_view text);

[[nodiscard]] std::string lower_case(std::string text);

[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tautstring::cli
