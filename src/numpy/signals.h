// Python's signals (Ctrl-C) while a call of the core runs.
#pragma once

#include <cstdint>

#include "tautstring/context.h"

namespace tautstring::numpy {

/// Runs the handlers of pending signals, every 50 ms and only on Python's main thread,
/// where they belong. The call must stop if a handler raises; that exception is then Python's
/// current one.
class Signals final : public Interrupt {
 public:
  [[nodiscard]] bool wanted() noexcept override;

 private:
  std::int64_t next_ = 0;
};

/// The same for code that does not use Python, such as the op library for torch. `next` is 0 in the
/// first call for a piece of work; the caller must not change it afterwards. The handler's
/// exception is stored while the caller raises an exception of its own for the stop, whose text
/// contains that of StatusCode::interrupted.
bool stops_for_signal(std::int64_t* next) noexcept;

/// Raises the stored exception, if any. If this is never called, Python raises it once the caller's
/// exception is no longer being handled.
void raise_stop_reason();

}  // namespace tautstring::numpy
