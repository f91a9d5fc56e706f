// Runs the built tautstring program as a shell would.
#pragma once

#include <string>
#include <vector>

namespace tautstring::cli::test {

struct ProgramResult {
  int exit_code = -1;
  std::string out;
  std::string err;
};

/// Runs the program with these arguments and `input` on standard input.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& arguments,
                                        const std::string& input = "");

/// Runs the program with the rights of an ordinary user, even where root runs the test.
[[nodiscard]] ProgramResult run_unprivileged(const std::vector<std::string>& arguments);

/// Runs a shell command line in which $TAUTSTRING is the program.
[[nodiscard]] ProgramResult run_shell(const std::string& line);

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tautstring::cli::test
