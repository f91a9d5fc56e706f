// Strict number parsing and safe display of untrusted text.
#include "text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <type_traits>

namespace tautstring::cli {
namespace {

/// std::from_chars accepts a minus but not a plus, which users do write.
std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

/// Whether a number that does not fit its type is too small rather than too large: with the
/// exponent applied, its first nonzero digit is after the decimal point.
bool is_too_small(std::string_view number) {
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), mark));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  std::int64_t exponent = 0;
  if (mark < number.size()) {
    const std::string_view text = without_plus(number.substr(mark + 1));
    const auto read = std::from_chars(text.data(), text.data() + text.size(), exponent);
    constexpr std::int64_t huge = std::int64_t{1} << 62;
    if (read.ec != std::errc{}) exponent = text[0] == '-' ? -huge : huge;
  }
  return point - first + exponent < 0;
}

template <class Number>
std::optional<Number> parse_all(std::string_view text) {
  text = without_plus(text);
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end) return std::nullopt;
  const bool underflows = std::is_floating_point_v<Number> &&
                          error == std::errc::result_out_of_range && is_too_small(text);
  if (underflows) return Number{0};
  return error == std::errc{} ? std::optional(value) : std::nullopt;
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

}  // namespace tautstring::cli
