// The whole command behind one call.
#pragma once

#include "exit_code.h"

namespace tautstring::cli {

/// Reads the command line and does what it asks for. Nothing is thrown: errors
/// are told on standard error.
[[nodiscard]] ExitCode run(int argc, const char* const* argv) noexcept;

}  // namespace tautstring::cli
