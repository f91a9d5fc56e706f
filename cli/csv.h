// Tables of numbers as text: one number per cell, cells separated by commas,
// semicolons, tabs or blanks.
#pragma once

#include <string>
#include <string_view>

#include "sample_array.h"

namespace tautstring::cli {

/// How a table was written, so that the result can be written in the same style.
struct CsvStyle {
  char delimiter = ',';
  std::string header;  // without the line end; empty: none
};

struct CsvTable {
  SampleArray samples;  // float64, (rows, columns); NaN where a cell is empty or nan
  CsvStyle style;
};

/// The first line is a header if none of its cells is a number and at least one does not begin like
/// a number. Lines that start with # are skipped. Throws FormatError, which names line and column.
[[nodiscard]] CsvTable parse_csv(std::string_view text);

/// Writes an array of up to two dimensions (one: a column), each number with the fewest digits that
/// restore its value. Throws FormatError for more dimensions and for zero columns.
[[nodiscard]] std::string format_csv(const SampleArray& samples, const CsvStyle& style);

}  // namespace tautstring::cli
