// What every call of the library returns. No exceptions, no printing: a Status
// carries the facts, and the caller decides how to tell a person.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautstring/export.h"

namespace tautstring {

enum class StatusCode : std::uint8_t {
  ok,
  invalid_argument,    // `argument` names it, `expected` says what is allowed
  unsupported_device,  // this build has no such device
  out_of_memory,       // scratch memory could not be had; nothing was written
  device_error,        // CUDA refused a launch, or had failed before; outputs are undefined
  interrupted,         // the context's Interrupt asked for it; outputs are undefined
};

/// The result of a call. On anything but `ok`, `device_error` and `interrupted` no output was
/// written.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  const char* argument = "";  // name of the argument at fault; static text
  const char* expected = "";  // what it must be; static text
  double given = 0;           // what it was: a size, a value, a dimension
  bool has_given = false;     // whether `given` says something
  std::int64_t index = -1;    // where: the element, in row-major order, or the dimension; or -1
  int device_error = 0;       // the cudaError_t (StatusCode::device_error)

  [[nodiscard]] constexpr bool ok() const noexcept { return code == StatusCode::ok; }
};

/// Writes one line for a person into `buffer` (always terminated if `size` > 0)
/// and returns the length that the whole line has, like std::snprintf:
/// "lam: must be >= 0 and not NaN, got -1 at index 3".
TAUTSTRING_API std::size_t describe(const Status& status, char* buffer, std::size_t size) noexcept;

}  // namespace tautstring
