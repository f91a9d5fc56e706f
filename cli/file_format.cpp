// Finding formats in a table.
#include "file_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "errors.h"
#include "input.h"
#include "text.h"

namespace tautstring::cli {
namespace {

template <class Predicate>
const FileFormat* find(FormatTable table, Predicate predicate) {
  const auto found = std::find_if(table.begin(), table.end(), predicate);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const FileFormat* format_of_path(FormatTable table, const std::filesystem::path& path) {
  const std::string extension = lower_case(path.extension().string());
  return find(table, [&](const FileFormat& format) {
    return std::find(format.extensions.begin(), format.extensions.end(), extension) !=
           format.extensions.end();
  });
}

const FileFormat* format_of_name(FormatTable table, std::string_view name) {
  return find(table, [&](const FileFormat& format) { return format.name == name; });
}

const FileFormat& output_format(FormatTable table, const std::string& path,
                                const FileFormat* chosen, const FileFormat& fallback) {
  if (path == kStandardStream) return chosen != nullptr ? *chosen : fallback;
  const FileFormat* const named = format_of_path(table, path);
  if (named != nullptr && chosen != nullptr && named != chosen) {
    throw Failure(ExitCode::usage, fmt::format("--format {} does not match the name '{}'",
                                               chosen->name, printable(path)));
  }
  if (named != nullptr) return *named;
  if (chosen != nullptr) return *chosen;
  throw Failure(ExitCode::usage,
                fmt::format("the name '{}' has no known extension: pass --format {}",
                            printable(path), names_of(table)));
}

std::string names_of(FormatTable table) {
  std::string names;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i > 0) names += i + 1 == table.size() ? " or " : ", ";
    names += table[i].name;
  }
  return names;
}

}  // namespace tautstring::cli
