// The return value of every call of the library. There are no exceptions and no printing: a Status
// carries the facts, and the caller decides how to report them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tautstring/export.h"

namespace tautstring {

enum class StatusCode : std::uint8_t {
  ok,
  invalid_argument,    // `argument` names it, `expected` describes what is allowed
  unsupported_device,  // this build does not support the device
  out_of_memory,       // scratch memory could not be allocated; nothing was written
  device_error,        // a CUDA launch failed, now or before the call; outputs are undefined
  interrupted,         // the context's Interrupt stopped the call; outputs are undefined
};

/// The result of a call. With any code other than `ok`, `device_error` and `interrupted`, no output
/// was written.
struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  const char* argument = "";  // name of the argument at fault; static text
  const char* expected = "";  // what it must be; static text
  double given = 0;           // what was passed: a size, a value, a dimension
  bool has_given = false;     // whether `given` is set
  std::int64_t index = -1;    // where: the element, in row-major order, or the dimension; -1: not
                              // known
  int device_error = 0;       // the cudaError_t (StatusCode::device_error)

  [[nodiscard]] constexpr bool ok() const noexcept { return code == StatusCode::ok; }
};

/// Writes a one-line message into `buffer` (always terminated if `size` > 0) and returns the length
/// of the whole line, like std::snprintf: "lam: must be >= 0 and not NaN, got -1 at index 3".
TAUTSTRING_API std::size_t describe(const Status& status, char* buffer, std::size_t size) noexcept;

}  // namespace tautstring
