// Reading and writing tables of numbers.
#include "csv.h"

#include <gtest/gtest.h>

#include <cmath>

#include "errors.h"
#include "support/arrays.h"

namespace tautstring::cli::test {
namespace {

using Shape = std::vector<std::int64_t>;
using Values = std::vector<double>;

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(parse_csv(text));
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParseCsv, reads_one_column) {
  const CsvTable table = parse_csv("1\n2.5\n-3e2\n");
  EXPECT_EQ(table.samples.shape, (Shape{3, 1}));
  EXPECT_EQ(values_of(table.samples), (Values{1, 2.5, -300}));
}

class Delimiter : public ::testing::TestWithParam<const char*> {};

TEST_P(Delimiter, is_found) {
  const std::string text = std::string("1") + GetParam() + "2\n3" + GetParam() + "4\n";
  const CsvTable table = parse_csv(text);
  EXPECT_EQ(table.samples.shape, (Shape{2, 2}));
  EXPECT_EQ(values_of(table.samples), (Values{1, 2, 3, 4}));
}

INSTANTIATE_TEST_SUITE_P(ParseCsv, Delimiter, ::testing::Values(",", ";", "\t", " ", "   ", " , "));

TEST(ParseCsv, keeps_the_header) {
  const CsvTable table = parse_csv("time, my value\n1,2\n");
  EXPECT_EQ(table.style.header, "time, my value");
  EXPECT_EQ(table.samples.shape, (Shape{1, 2}));
}

TEST(ParseCsv, finds_the_delimiter_of_the_numbers_not_of_the_header) {
  EXPECT_EQ(parse_csv("a b, c\n1;2\n").style.delimiter, ';');
}

TEST(ParseCsv, reads_one_column_below_a_header_of_several_words) {
  EXPECT_EQ(parse_csv("my value, in m\n1\n2\n").samples.shape, (Shape{2, 1}));
}

TEST(ParseCsv, does_not_take_a_typo_in_the_first_row_for_a_header) {
  EXPECT_EQ(error_of("1,2x,3\n4,5,6\n"), "line 1, column 2: '2x' is not a number");
}

TEST(ParseCsv, does_not_take_a_first_row_of_typos_for_a_header) {
  EXPECT_EQ(error_of("1.5x\n2\n"), "line 1, column 1: '1.5x' is not a number");
  EXPECT_EQ(error_of("-1_0,.5.\n2,3\n"), "line 1, column 1: '-1_0' is not a number");
}

TEST(ParseCsv, keeps_a_header_with_a_word_that_begins_with_a_digit) {
  EXPECT_EQ(parse_csv("time,2nd\n1,2\n").style.header, "time,2nd");
}

TEST(ParseCsv, reads_what_is_too_small_as_zero) {
  EXPECT_EQ(values_of(parse_csv("1e-400\n2\n").samples), (Values{0, 2}));
}

TEST(ParseCsv, skips_comments) {
  EXPECT_EQ(values_of(parse_csv("# made by hand\n1\n  # more\n2\n").samples), (Values{1, 2}));
}

TEST(ParseCsv, reads_windows_line_ends_and_byte_order_mark) {
  EXPECT_EQ(values_of(parse_csv("\xEF\xBB\xBF"
                                "1,2\r\n3,4\r\n")
                          .samples),
            (Values{1, 2, 3, 4}));
}

TEST(ParseCsv, refuses_a_byte_order_mark_behind_a_comment) {
  EXPECT_EQ(error_of("# note\n\xEF\xBB\xBF\n-5.5\n"),
            "line 2: a byte order mark belongs at the start of the file");
}

TEST(ParseCsv, does_not_take_a_stray_carriage_return_for_a_header) {
  EXPECT_NE(error_of("\r\r\n2\n"), "no error");
}

TEST(ParseCsv, reads_a_last_line_without_line_end) {
  EXPECT_EQ(values_of(parse_csv("1\n2").samples), (Values{1, 2}));
}

TEST(ParseCsv, reads_empty_cells_and_nan_as_missing) {
  const Values values = values_of(parse_csv("1,,nan\n4,5,6\n").samples);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST(ParseCsv, reads_an_empty_line_of_one_column_as_missing) {
  const CsvTable table = parse_csv("1\n\n3\n\n\n");
  EXPECT_EQ(table.samples.shape, (Shape{3, 1}));
  EXPECT_TRUE(std::isnan(values_of(table.samples)[1]));
}

TEST(ParseCsv, keeps_a_leading_empty_cell_between_tabs) {
  const Values values = values_of(parse_csv("1\t2\n\t4\n").samples);
  EXPECT_TRUE(std::isnan(values[2]));
  EXPECT_EQ(values[3], 4);
}

TEST(ParseCsv, names_line_and_column_of_an_unreadable_cell) {
  EXPECT_EQ(error_of("# c\n1,2\n3,oops\n"), "line 3, column 2: 'oops' is not a number");
}

TEST(ParseCsv, names_line_and_column_of_an_infinite_cell) {
  EXPECT_EQ(error_of("1,2\n-inf,3\n"), "line 2, column 1: '-inf' is not a finite number");
}

TEST(ParseCsv, names_the_line_of_a_ragged_row) {
  EXPECT_EQ(error_of("1,2\n3\n"),
            "line 2, column 2: the row has 1 cells, but the rows before have 2");
}

TEST(ParseCsv, refuses_a_table_without_numbers) {
  EXPECT_EQ(error_of(""), "it contains no numbers");
  EXPECT_EQ(error_of("only,a,header\n"), "it contains no numbers");
}

TEST(FormatCsv, writes_the_fewest_digits_that_give_the_number_back) {
  const CsvTable table = parse_csv("0.1,1e300\n3,0.30000000000000004\n");
  EXPECT_EQ(format_csv(table.samples, table.style), "0.1,1e+300\n3,0.30000000000000004\n");
}

TEST(FormatCsv, writes_header_and_delimiter_as_they_were) {
  const CsvTable table = parse_csv("a;b\n1;2\n");
  EXPECT_EQ(format_csv(table.samples, table.style), "a;b\n1;2\n");
}

TEST(FormatCsv, follows_the_order_of_elements) {
  SampleArray array = parse_csv("1,2\n3,4\n").samples;
  array.fortran_order = true;
  EXPECT_EQ(format_csv(array, {}), "1,3\n2,4\n");
}

TEST(FormatCsv, refuses_rows_without_columns_at_once) {
  SampleArray array;
  array.shape = {std::int64_t{1} << 60, 0};
  EXPECT_THROW(static_cast<void>(format_csv(array, {})), FormatError);
}

TEST(FormatCsv, refuses_three_dimensions) {
  SampleArray array;
  array.shape = {1, 1, 1};
  array.data.resize(sizeof(double));
  EXPECT_THROW(static_cast<void>(format_csv(array, {})), FormatError);
}

}  // namespace
}  // namespace tautstring::cli::test
