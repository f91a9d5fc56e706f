// The exit codes of the tautstring command. Scripts rely on them, so the numbers never change.
// docs/cli.md and `tautstring --help` show the same table.
#pragma once

namespace tautstring::cli {

enum class ExitCode : int {
  done = 0,
  unexpected = 1,
  usage = 2,
  input = 3,
  output = 4,
  some_failed = 5,
};

inline constexpr const char* kExitCodeHelp =
    "Exit codes:\n"
    "  0  done\n"
    "  1  unexpected failure\n"
    "  2  wrong usage\n"
    "  3  an input cannot be read\n"
    "  4  an output cannot be written\n"
    "  5  some files of a folder failed";

}  // namespace tautstring::cli
