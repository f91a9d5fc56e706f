// Strict number parsing and safe display of foreign text.
#include "text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tautstring::cli::test {
namespace {

TEST(ParseNumber, reads_plain_and_scientific_numbers) {
  EXPECT_EQ(parse_number("0.5"), 0.5);
  EXPECT_EQ(parse_number("-1e-3"), -1e-3);
  EXPECT_EQ(parse_number("+2"), 2.0);
}

TEST(ParseNumber, reads_infinity) {
  EXPECT_EQ(parse_number("inf"), HUGE_VAL);
  EXPECT_EQ(parse_number("-inf"), -HUGE_VAL);
}

TEST(ParseNumber, reads_nan) {
  EXPECT_TRUE(std::isnan(parse_number("NaN").value()));
}

TEST(ParseNumber, refuses_trailing_garbage) {
  EXPECT_FALSE(parse_number("0.1x"));
  EXPECT_FALSE(parse_number("1 "));
  EXPECT_FALSE(parse_number("1,5"));
}

TEST(ParseNumber, refuses_empty_text) {
  EXPECT_FALSE(parse_number(""));
}

TEST(ParseNumber, refuses_a_doubled_sign) {
  EXPECT_FALSE(parse_number("+-1"));
  EXPECT_FALSE(parse_number("++1"));
}

TEST(ParseNumber, refuses_what_no_double_holds) {
  EXPECT_FALSE(parse_number("1e999"));
}

TEST(ParseNumber, reads_what_is_too_small_as_zero) {
  EXPECT_EQ(parse_number("1e-400"), 0.0);
  EXPECT_EQ(parse_number("-12.5e-400"), 0.0);
  EXPECT_EQ(parse_number("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(parse_number("0." + std::string(400, '0') + "1"), 0.0);
}

TEST(ParseNumber, refuses_what_is_too_large_whatever_its_exponent) {
  EXPECT_FALSE(parse_number("1" + std::string(400, '0')));
  EXPECT_FALSE(parse_number("1" + std::string(400, '0') + "e-10"));
  EXPECT_FALSE(parse_number("0.001e+999"));
  EXPECT_FALSE(parse_number("1e99999999999999999999"));
}

TEST(ParseInteger, refuses_fractions_and_overflow) {
  EXPECT_EQ(parse_integer("-3"), -3);
  EXPECT_FALSE(parse_integer("1.5"));
  EXPECT_FALSE(parse_integer("99999999999"));
}

TEST(Printable, replaces_control_characters) {
  EXPECT_EQ(printable("a\x1b[2Jb\n"), "a?[2Jb?");
}

TEST(Printable, keeps_utf8) {
  EXPECT_EQ(printable("\xC3\xA4.png"), "\xC3\xA4.png");
}

TEST(Excerpt, cuts_long_text) {
  EXPECT_EQ(excerpt(std::string(100, 'a')).size(), 43U);
}

}  // namespace
}  // namespace tautstring::cli::test
