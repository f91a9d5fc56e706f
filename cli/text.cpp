// Strict number parsing and safe display of foreign text.
#include "text.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace tautline::cli {
namespace {

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  // std::from_chars takes a minus but no plus, which people do write.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  return parse_all<double>(text);
}

std::optional<int> parse_integer(std::string_view text) {
  return parse_all<int>(text);
}

std::string printable(std::string_view text) {
  std::string result(text);
  const auto is_control = [](char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; };
  std::replace_if(result.begin(), result.end(), is_control, '?');
  return result;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  if (text.size() <= longest) return printable(text);
  return printable(text.substr(0, longest)) + "...";
}

std::string lower_case(std::string text) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  std::transform(text.begin(), text.end(), text.begin(), lower);
  return text;
}

}  // namespace tautline::cli
