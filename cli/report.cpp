// The layout of reports.
#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "input.h"
#include "output.h"
#include "progress.h"

namespace tautstring::cli {
namespace {

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "none";
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& element : value) text += (text.empty() ? "" : ", ") + value_text(element);
  return text;
}

}  // namespace

std::string json_text(const Json& json) {
  constexpr int indent = 2;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json json_number(double value) {
  return std::isinf(value) ? Json("inf") : Json(value);
}

std::string field_lines(const Json& object) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items()) width = std::max(width, key.size());
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += fmt::format("{:<{}}  {}\n", key, width, value_text(value));
  }
  return text;
}

void write_report(const std::string& text, const std::string& output) {
  if (output == kStandardStream) {
    write_stderr(text);
  } else {
    write_stdout(text);
  }
}

}  // namespace tautstring::cli
