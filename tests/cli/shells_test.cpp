// The manual page, and the completions in the shells that read them.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/program.h"
#include "support/temp_folder.h"
#include "tautstring/version.h"

namespace tautstring::cli::test {
namespace {

using Words = std::vector<std::string>;

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream rest(text);
  for (std::string line; std::getline(rest, line);) lines.push_back(line);
  return lines;
}

bool has_shell(const std::string& name) {
  return run_shell("command -v " + name).exit_code == 0;
}

/// What bash offers for the last of these words.
Words bash_offers(const std::string& words, int count) {
  const ProgramResult result = run_shell(
      "export TAUTSTRING; bash -c 'eval \"$(\"$TAUTSTRING\" completion bash)\"; COMP_WORDS=(" +
      words + "); COMP_CWORD=" + std::to_string(count - 1) +
      "; _tautstring; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return lines_of(result.out);
}

TEST(Completion, bash_offers_subcommands_options_and_values) {
  EXPECT_EQ(bash_offers("tautstring sm", 2), (Words{"smooth"}));
  EXPECT_EQ(bash_offers("tautstring --v", 2), (Words{"--version"}));
  EXPECT_EQ(bash_offers("tautstring smooth --it", 3), (Words{"--iterations"}));
  EXPECT_EQ(bash_offers("tautstring smooth --direction \"\"", 4), (Words{"2d", "row", "col"}));
  EXPECT_EQ(bash_offers("tautstring sharpen --direction = r", 5), (Words{"row"}));
  EXPECT_EQ(bash_offers("tautstring compare --mode =", 4), (Words{"smooth", "sharp"}));
  EXPECT_EQ(bash_offers("tautstring smooth --format t", 4), (Words{"tiff"}));
  EXPECT_EQ(bash_offers("tautstring completion f", 3), (Words{"fish"}));
}

TEST(Completion, bash_leaves_files_and_numbers_to_the_user) {
  EXPECT_EQ(bash_offers("tautstring smooth pho", 3), Words{""});
  EXPECT_EQ(bash_offers("tautstring signal --weights w", 4), Words{""});
  EXPECT_EQ(bash_offers("tautstring smooth --lam \"\"", 4), Words{""});
  EXPECT_EQ(bash_offers("tautstring signal --recur", 3), Words{""}) << "an option of smooth";
}

TEST(Completion, fish_offers_the_same) {
  if (!has_shell("fish")) GTEST_SKIP() << "no fish";
  const auto offers = [](const std::string& words) {
    const ProgramResult result = run_shell(
        "export TAUTSTRING; HOME=/nonexistent fish --no-config -c '\"$TAUTSTRING\" completion fish "
        "| source; "
        "complete -C \"" +
        words + "\" | cut -f 1' 2>&1");
    return lines_of(result.out);
  };
  EXPECT_EQ(offers("tautstring sm"), (Words{"smooth"}));
  EXPECT_EQ(offers("tautstring smooth --it"), (Words{"--iterations"}));
  EXPECT_EQ(offers("tautstring smooth --direction r"), (Words{"row"}));
  EXPECT_EQ(offers("tautstring completion z"), (Words{"zsh"}));
}

TEST(Completion, zsh_reads_the_script) {
  if (!has_shell("zsh")) GTEST_SKIP() << "no zsh";
  const ProgramResult result = run_shell("\"$TAUTSTRING\" completion zsh | zsh -n /dev/stdin");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Completion, an_unknown_shell_is_an_error) {
  const ProgramResult result = run_program({"completion", "tcsh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("SHELL: must be one of bash|zsh|fish, got 'tcsh'"), std::string::npos)
      << result.err;
}

TEST(Manual, describes_every_subcommand_and_option_of_the_help) {
  const std::string page = run_program({"manual"}).out;
  EXPECT_NE(page.find("tautstring " + std::string(kVersion)), std::string::npos);
  const std::string help = run_program({"smooth", "--help"}).out;
  std::size_t options = 0;
  for (std::size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
    std::string name = help.substr(at, help.find_first_of(" ,\n", at) - at);
    for (std::size_t dash = name.find('-'); dash != std::string::npos;
         dash = name.find('-', dash + 2)) {
      name.insert(dash, "\\");
    }
    EXPECT_NE(page.find(name), std::string::npos) << name;
    ++options;
  }
  EXPECT_GT(options, 10U);
  EXPECT_NE(page.find(".SH \"tautstring completion\""), std::string::npos);
}

TEST(Manual, has_no_line_that_troff_misreads) {
  if (!has_shell("groff")) GTEST_SKIP() << "no groff";
  const ProgramResult result = run_shell("\"$TAUTSTRING\" manual | groff -man -Tutf8 -ww -z 2>&1");
  EXPECT_EQ(result.out, "");
}

}  // namespace
}  // namespace tautstring::cli::test
