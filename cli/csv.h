// Tables of numbers as text: one number a cell, cells parted by commas,
// semicolons, tabs or blanks.
#pragma once

#include <string>
#include <string_view>

#include "sample_array.h"

namespace tautstring::cli {

/// How a table was written, so that the result can be written alike.
struct CsvStyle {
  char delimiter = ',';
  std::string header;  // without its line end; empty: none
};

struct CsvTable {
  SampleArray samples;  // float64, (rows, columns); NaN where a cell is empty or nan
  CsvStyle style;
};

/// The first line is a header if none of its cells is a number and one does not
/// even begin like a number. Lines that start with # are skipped. Throws FormatError that names
/// line and column.
[[nodiscard]] CsvTable parse_csv(std::string_view text);

/// Writes an array of up to two dimensions (one: a column), each number in the
/// fewest digits that give it back. Throws FormatError for more dimensions and for no
/// columns.
[[nodiscard]] std::string format_csv(const SampleArray& samples, const CsvStyle& style);

}  // namespace tautstring::cli
