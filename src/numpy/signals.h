// Python's signals (Ctrl-C) while a call of the core runs.
#pragma once

#include <cstdint>

#include "tautstring/context.h"

namespace tautstring::numpy {

/// Runs the handlers of signals that have arrived, every few milliseconds and only
/// on Python's main thread, where they belong. The call is to stop where one of
/// them raises; what it raised is then Python's current exception.
class Signals final : public Interrupt {
 public:
  [[nodiscard]] bool wanted() noexcept override;

 private:
  std::int64_t next_ = 0;
};

/// The same for code that does not know Python, such as the op library for torch.
/// `next` is 0 in the first call for a piece of work, and not to be touched after.
/// What the handler raised is kept, while the caller turns the stop into an exception
/// of its own, the text of which has that of StatusCode::interrupted.
bool stops_for_signal(std::int64_t* next) noexcept;

/// Raises what was kept, if anything. Where nobody calls this, Python raises it once
/// nobody handles the caller's exception any more.
void raise_stop_reason();

}  // namespace tautstring::numpy
