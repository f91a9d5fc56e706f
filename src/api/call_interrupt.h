// Wraps the caller's Interrupt for one call.
#pragma once

#include <atomic>
#include <thread>

#include "tautstring/context.h"

namespace tautstring::detail {

/// All threads of the call query this object. It queries the caller's Interrupt only on the thread
/// that made the call, and keeps a true answer for the others.
class CallInterrupt final : public Interrupt {
 public:
  explicit CallInterrupt(Interrupt& callers) noexcept
      : callers_(callers), thread_(std::this_thread::get_id()) {}

  [[nodiscard]] bool wanted() noexcept override {
    if (wanted_.load(std::memory_order_relaxed)) return true;
    if (std::this_thread::get_id() != thread_ || !callers_.wanted()) return false;
    wanted_.store(true, std::memory_order_relaxed);
    return true;
  }

  [[nodiscard]] bool was_wanted() const noexcept { return wanted_.load(std::memory_order_relaxed); }

 private:
  Interrupt& callers_;
  const std::thread::id thread_;
  std::atomic<bool> wanted_{false};
};

}  // namespace tautstring::detail
