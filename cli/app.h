// The whole command in one call.
#pragma once

#include "exit_code.h"

namespace tautstring::cli {

/// Runs the command line and returns the exit code. Throws nothing: errors are printed to standard
/// error.
[[nodiscard]] ExitCode run(int argc, const char* const* argv) noexcept;

}  // namespace tautstring::cli
