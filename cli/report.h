// Reports for users and for programs.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

namespace tautstring::cli {

/// Keeps the fields in the order in which they were added.
using Json = nlohmann::ordered_json;

/// One object or array as text, indented, with a line end. Bytes that are not UTF-8 (file names may
/// contain any) are replaced.
[[nodiscard]] std::string json_text(const Json& json);

/// A number for JSON, which has no infinity: "inf" as a string.
[[nodiscard]] Json json_number(double value);

/// "key  value" lines for users, with the values aligned.
[[nodiscard]] std::string field_lines(const Json& object);

/// Writes a report to standard output, or to standard error if `output` is standard output, which
/// then carries the result itself.
void write_report(const std::string& text, const std::string& output);

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }

 private:
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace tautstring::cli
