// What the tests of tautline::torch share.
#pragma once

#include <c10/util/Exception.h>

#include <functional>
#include <string>

/// The text of the error in an argument that a call ends with.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::ValueError& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}
