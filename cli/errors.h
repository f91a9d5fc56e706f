// The two exceptions of the command. Neither leaves run() in app.h.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "exit_code.h"

namespace tautstring::cli {

/// Ends the work on one file or the whole command; the text is a complete message for users.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Converts the exception that ended the work on the file `name` to a Failure.
[[nodiscard]] inline Failure failure_of(const std::exception& error, const std::string& name) {
  if (const auto* const failure = dynamic_cast<const Failure*>(&error)) return *failure;
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  return {ExitCode::unexpected, name + ": " + (no_memory ? "not enough memory" : error.what())};
}

/// Invalid bytes in a file. Whoever read the file knows its name and converts this to a Failure
/// with the name.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tautstring::cli
