// Usage: errors in the command line, help, closed streams.
#include <gtest/gtest.h>

#include <ostream>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/test_image.h"
#include "tautstring/version.h"

namespace tautstring::cli::test {
namespace {

using ::testing::TestWithParam;

struct WrongUsage {
  std::vector<std::string> arguments;
  std::string message;
};

void PrintTo(const WrongUsage& usage, std::ostream* out) {  // the name that GoogleTest looks for
  *out << usage.message;
}

class Usage : public TestWithParam<WrongUsage> {};

TEST_P(Usage, is_refused_with_exit_code_2) {
  const ProgramResult result = run_program(GetParam().arguments);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(contains(result.err, "tautstring: error: " + GetParam().message + "\n"))
      << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, Usage,
    ::testing::Values(
        WrongUsage{{}, "A subcommand is required"},
        WrongUsage{{"blur"}, "'blur' is not a subcommand"},
        WrongUsage{{"smooth", "a.png"}, "OUTPUT is required"},
        WrongUsage{{"smooth", "a.png", "b.png", "--blur"},
                   "The following argument was not expected: --blur"},
        WrongUsage{{"smooth", "a.png", "b.png", "--lam", "abc"},
                   "--lam: must be a number >= 0 or inf, got 'abc'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--lam", "-1"},
                   "--lam: must be a number >= 0 or inf, got '-1'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--lam", "nan"},
                   "--lam: must be a number >= 0 or inf, got 'nan'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--lam", "0.1x"},
                   "--lam: must be a number >= 0 or inf, got '0.1x'"},
        WrongUsage{{"sharpen", "a.png", "b.png", "--lam=-inf"},
                   "--lam: must be a number >= 0 or inf, got '-inf'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--threads", "0"},
                   "--threads: must be a whole number from 1 to 1024, got '0'"},
        WrongUsage{{"smooth", "a.png", "b.jpg", "--quality", "101"},
                   "--quality: must be a whole number from 1 to 100, got '101'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--direction", "row+col"},
                   "--direction: must be one of 2d|row|col, got 'row+col'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--method", "newton"},
                   "--method: must be one of accelerated|dykstra, got 'newton'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--iterations", "0"},
                   "--iterations: must be a whole number from 1 to 1000000, got '0'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--tol", "-1"},
                   "--tol: must be a number >= 0, got '-1'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--tol", "inf"},
                   "--tol: must be a number >= 0, got 'inf'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--tol", "nan"},
                   "--tol: must be a number >= 0, got 'nan'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--direction", "row", "--tol", "1e-3"},
                   "--tol: only for --direction 2d, got '1e-3' with --direction row"},
        WrongUsage{{"sharpen", "a.png", "b.png", "--iterations", "8", "--direction", "col"},
                   "--iterations: only for --direction 2d, got '8' with --direction col"},
        WrongUsage{{"compare", "a.png", "b.png", "--direction", "col", "--method", "dykstra"},
                   "--method: only for --direction 2d, got 'dykstra' with --direction col"},
        WrongUsage{{"smooth", "a.png", "-", "--format", "gif"},
                   "--format: must be png, jpg, tiff or webp, got 'gif'"},
        WrongUsage{{"smooth", "a.png", "b.png", "--format", "jpg"},
                   "--format jpg does not match the name 'b.png'"},
        WrongUsage{{"smooth", "a.png", "b.gif"},
                   "the name 'b.gif' has no known extension: pass --format png, jpg, tiff or webp"},
        WrongUsage{{"signal", "a.npy", "b.npy"}, "--lam is required"},
        WrongUsage{{"signal", "a.npy", "b.xls", "--lam", "1"},
                   "the name 'b.xls' has no known extension: pass --format npy or csv"},
        WrongUsage{{"signal", "a.npy", "b.npy", "--lam", "1", "--dim", "one"},
                   "--dim: must be a whole number, got 'one'"},
        WrongUsage{{"signal", "a.npy", "--lam", "1", "--segments", "--mode", "sharp"},
                   "--segments: only a smoothed signal has segments"},
        WrongUsage{{"compare", "a.png", "b.png", "--mode", "blur"},
                   "--mode: must be one of smooth|sharp, got 'blur'"}));

TEST(CommandLine, help_shows_the_exit_codes) {
  const ProgramResult result = run_program({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "3  an input cannot be read"));
  EXPECT_EQ(result.err, "");
}

TEST(CommandLine, help_of_a_subcommand_shows_its_options) {
  const ProgramResult result = run_program({"signal", "--help"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, "--segments"));
}

TEST(CommandLine, version_is_the_version_of_the_library) {
  EXPECT_EQ(run_program({"--version"}).out, std::string("tautstring ") + kVersion + "\n");
}

TEST(CommandLine, a_full_standard_output_is_exit_code_4) {
  const ProgramResult result = run_shell("$TAUTSTRING info >/dev/full");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "cannot write to standard output: No space left on device"));
}

TEST(CommandLine, a_closed_pipe_is_exit_code_4_and_no_crash) {
  // The reader exits before the program starts to write.
  const ProgramResult result =
      run_shell("{ sleep 0.3; $TAUTSTRING info; echo code $? >&2; } | true");
  EXPECT_TRUE(contains(result.err, "code 4")) << result.err;
}

class ClosedStreams : public TempFolder {};

TEST_F(ClosedStreams, never_send_messages_into_the_result) {
  write_image(make_image(8, 8, 1), path("a.png"));
  const ProgramResult result =
      run_shell("$TAUTSTRING smooth '" + path("a.png") + "' '" + path("b.png") + "' <&- >&- 2>&-");
  EXPECT_EQ(result.exit_code, 4);  // the report cannot be written
  EXPECT_EQ(read_image(path("b.png")).width, 8);
}

}  // namespace
}  // namespace tautstring::cli::test
