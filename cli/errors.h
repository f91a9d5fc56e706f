// The two exceptions of the command. Neither leaves run() in app.h.
#pragma once

#include <stdexcept>
#include <string>

#include "exit_code.h"

namespace tautline::cli {

/// Ends the work on one file or the whole command; the text is ready for a person.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Bytes that are not what they should be. The one who read them knows the name
/// of the file and turns this into a Failure that tells it.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tautline::cli
