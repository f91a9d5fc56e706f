// The text of the progress bar.
#include "progress.h"

#include <gtest/gtest.h>

namespace tautstring::cli::test {
namespace {

TEST(ProgressLine, tells_place_rest_time_and_name) {
  EXPECT_EQ(progress_line(1, 4, 10, "b.png", 80), "[######..................] 2/4  ETA 30s  b.png");
}

TEST(ProgressLine, has_no_rest_time_before_the_first_file_is_done) {
  EXPECT_EQ(progress_line(0, 2, 0, "a.png", 80), "[........................] 1/2  a.png");
}

TEST(ProgressLine, never_exceeds_the_terminal) {
  EXPECT_EQ(progress_line(0, 2, 0, std::string(200, 'x'), 40).size(), 40U);
}

TEST(ProgressLine, shows_no_control_characters_of_a_file_name) {
  EXPECT_EQ(progress_line(0, 2, 0, "a\x1b[2J", 80).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace tautstring::cli::test
