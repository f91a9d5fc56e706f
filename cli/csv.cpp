// Reading and writing tables of numbers.
#include "csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "errors.h"
#include "text.h"

namespace tautstring::cli {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Line {
  std::size_t number = 0;  // in the file, from 1
  std::string_view text;
};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// The lines without comments and without empty lines at the end. An empty line between others is
/// kept: in a table of one column it is an empty cell.
std::vector<Line> table_lines(std::string_view text) {
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (trim(line).substr(0, 1) != "#") lines.push_back({number, line});
  }
  while (!lines.empty() && trim(lines.back().text).empty()) lines.pop_back();
  return lines;
}

/// 0 if the line has no delimiter. Blanks at its ends are not delimiters.
char delimiter_in(std::string_view line) {
  for (const char delimiter : {';', ',', '\t', ' '}) {
    if (trim(line).find(delimiter) != std::string_view::npos) return delimiter;
  }
  return '\0';
}

/// Looks at the other lines before the first, which may be a header: its words may contain any
/// character.
char find_delimiter(const std::vector<Line>& lines) {
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (const char found = delimiter_in(lines[i].text)) return found;
  }
  const char found = delimiter_in(lines[0].text);
  return found != '\0' ? found : ',';  // one column: any will do
}

/// Iterates over the cells of a line.
class Cells {
 public:
  Cells(std::string_view line, char delimiter)
      : rest_(delimiter == '\t' ? line : trim(line)), delimiter_(delimiter) {}

  std::optional<std::string_view> next() {
    if (at_end_) return std::nullopt;
    const std::size_t end =
        delimiter_ == ' ' ? rest_.find_first_of(kBlanks) : rest_.find(delimiter_);
    const std::string_view cell = trim(rest_.substr(0, end));
    at_end_ = end == std::string_view::npos;
    if (!at_end_) rest_.remove_prefix(end + 1);
    if (delimiter_ == ' ') rest_ = trim(rest_);  // a run of blanks is one delimiter
    return cell;
  }

 private:
  std::string_view rest_;
  char delimiter_;
  bool at_end_ = false;
};

/// A cell that begins like a number but is not one is a mistake, not a word; so is one that begins
/// with a control character, which would be lost in writing.
bool is_word(std::string_view cell) {
  constexpr std::string_view number_begins = "0123456789+-.";
  return !cell.empty() && static_cast<unsigned char>(cell[0]) > ' ' &&
         number_begins.find(cell[0]) == std::string_view::npos;
}

bool is_header(std::string_view line, char delimiter) {
  Cells cells(line, delimiter);
  bool has_word = false;
  while (const auto cell = cells.next()) {
    if (parse_number(*cell)) return false;
    has_word = has_word || is_word(*cell);
  }
  return has_word;
}

double parse_cell(std::string_view cell, std::size_t line, std::size_t column) {
  if (cell.empty()) return std::numeric_limits<double>::quiet_NaN();
  const std::optional<double> value = parse_number(cell);
  if (!value) {
    throw FormatError(
        fmt::format("line {}, column {}: '{}' is not a number", line, column, excerpt(cell)));
  }
  if (std::isinf(*value)) {
    throw FormatError(fmt::format("line {}, column {}: '{}' is not a finite number", line, column,
                                  excerpt(cell)));
  }
  return *value;
}

std::size_t append_cells(const Line& line, char delimiter, std::vector<double>& values) {
  Cells cells(line.text, delimiter);
  std::size_t column = 0;
  while (const auto cell = cells.next()) values.push_back(parse_cell(*cell, line.number, ++column));
  return column;
}

void append_number(fmt::memory_buffer& text, double value, DType dtype) {
  auto out = std::back_inserter(text);
  if (std::isnan(value)) {
    fmt::format_to(out, "nan");  // whatever its sign bit
  } else if (dtype == DType::float64) {
    fmt::format_to(out, "{}", value);
  } else {
    fmt::format_to(out, "{}", static_cast<float>(value));  // fewer digits restore the same value
  }
}

}  // namespace

CsvTable parse_csv(std::string_view text) {
  std::vector<Line> lines = table_lines(text);
  CsvTable table;
  if (!lines.empty()) {
    table.style.delimiter = find_delimiter(lines);
    if (lines[0].text.starts_with(
            kByteOrderMark)) {  // in a header it would be lost when read again
      throw FormatError(fmt::format("line {}: a byte order mark belongs at the start of the file",
                                    lines[0].number));
    }
    if (is_header(lines[0].text, table.style.delimiter)) {
      table.style.header = std::string(lines[0].text);
      lines.erase(lines.begin());
    }
  }
  if (lines.empty()) throw FormatError("it contains no numbers");

  std::vector<double> values;
  std::size_t columns = 0;
  for (const Line& line : lines) {
    const std::size_t found = append_cells(line, table.style.delimiter, values);
    if (columns == 0) columns = found;
    if (found != columns) {
      throw FormatError(
          fmt::format("line {}, column {}: the row has {} cells, but the rows before have {}",
                      line.number, std::min(found, columns) + 1, found, columns));
    }
  }
  table.samples.shape = {static_cast<std::int64_t>(lines.size()),
                         static_cast<std::int64_t>(columns)};
  table.samples.data.resize(values.size() * sizeof(double));
  std::memcpy(table.samples.data.data(), values.data(), table.samples.data.size());
  return table;
}

std::string format_csv(const SampleArray& samples, const CsvStyle& style) {
  const std::size_t ndim = samples.shape.size();
  if (ndim > 2) {
    throw FormatError(fmt::format("a table can have at most 2 dimensions, got {}", ndim));
  }
  const std::vector<std::int64_t> strides = samples.strides();
  const std::int64_t rows = ndim > 0 ? samples.shape[0] : 1;
  const std::int64_t columns = ndim > 1 ? samples.shape[1] : 1;
  if (columns == 0) throw FormatError("a table must have at least one column");
  fmt::memory_buffer text;
  if (!style.header.empty()) fmt::format_to(std::back_inserter(text), "{}\n", style.header);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      if (c > 0) text.push_back(style.delimiter);
      const double value =
          samples.at((ndim > 0 ? r * strides[0] : 0) + (ndim > 1 ? c * strides[1] : 0));
      append_number(text, value, samples.dtype);
    }
    text.push_back('\n');
  }
  return fmt::to_string(text);
}

}  // namespace tautstring::cli
