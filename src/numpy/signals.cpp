#include "signals.h"

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include "tautstring/error.h"

namespace tautstring::numpy {

namespace nb = nanobind;

namespace {

/// Time between two checks for signals. A call that takes less never waits for the interpreter.
constexpr std::chrono::nanoseconds kBetweenLooks = std::chrono::milliseconds(50);

/// Whether this is the first thread of the process, the only one on which Python runs handlers.
bool is_main_thread() noexcept {
  return gettid() == getpid();
}

/// Whether to check now; updates the time of the next check.
bool is_time(std::int64_t& next) noexcept {
  const std::int64_t now =
      std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  if (next != 0 && now < next) return false;
  const bool is_first = next == 0;
  next = is_main_thread() ? now + kBetweenLooks.count() : std::numeric_limits<std::int64_t>::max();
  return !is_first && next != std::numeric_limits<std::int64_t>::max();
}

/// While it exists, this thread may use Python.
class HeldInterpreter {
 public:
  HeldInterpreter() noexcept : state_(PyGILState_Ensure()) {}
  HeldInterpreter(const HeldInterpreter&) = delete;
  HeldInterpreter& operator=(const HeldInterpreter&) = delete;
  ~HeldInterpreter() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// Removes and returns the current exception.
PyObject* take_exception() noexcept {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return value;
}

/// The exception that a handler raised in stops_for_signal, until it is raised again. Only the main
/// thread uses it.
PyObject* stop_reason = nullptr;

/// Makes the reason the current exception, with no other exception as its context.
void restore_stop_reason() noexcept {
  PyObject* const value = std::exchange(stop_reason, nullptr);
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(value));
  Py_INCREF(type);
  PyErr_Restore(type, value, PyException_GetTraceback(value));
}

/// Whether Python is in an `except` or `finally` block for the exception that was raised for a
/// stopped call.
bool is_stop_handled() noexcept {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_GetExcInfo(&type, &value, &traceback);
  PyObject* const text = value == nullptr || value == Py_None ? nullptr : PyObject_Str(value);
  const char* const utf8 = text == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(text, nullptr);
  const bool is_handled =
      utf8 != nullptr &&
      std::string_view(utf8).find(message({.code = StatusCode::interrupted})) != std::string::npos;
  PyErr_Clear();  // of an exception without text
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return is_handled;
}

/// A pending call of the interpreter, for callers that do not call raise_stop_reason, such as
/// compiled graphs. It waits until the exception that was raised instead is no longer being
/// handled: raised in the middle of torch's own cleanup, the reason would leave torch in an
/// inconsistent state.
int raise_stop_reason_later(void* /*none*/) noexcept {
  if (stop_reason == nullptr) return 0;
  if (is_stop_handled()) {
    // If there are too many pending calls, this was the last attempt.
    static_cast<void>(Py_AddPendingCall(raise_stop_reason_later, nullptr));
    return 0;
  }
  restore_stop_reason();
  return -1;
}

}  // namespace

bool Signals::wanted() noexcept {
  if (!is_time(next_)) return false;
  const HeldInterpreter interpreter;
  return PyErr_CheckSignals() != 0;
}

bool stops_for_signal(std::int64_t* next) noexcept {
  if (!is_time(*next)) return false;
  const HeldInterpreter interpreter;
  if (PyErr_CheckSignals() == 0) return false;
  Py_XDECREF(std::exchange(stop_reason, take_exception()));
  static_cast<void>(Py_AddPendingCall(raise_stop_reason_later, nullptr));
  return true;
}

void raise_stop_reason() {
  if (stop_reason == nullptr) return;
  restore_stop_reason();
  throw nb::python_error();
}

}  // namespace tautstring::numpy
