// The threads that calls from NumPy run on: one pool per process, however many calls there are.
#pragma once

#include <cstddef>
#include <limits>
#include <new>

#include "tautstring/context.h"

namespace tautstring::numpy {

/// Up to `threads` of the process's threads for one call; below 1: one per hardware thread.
class CallThreads final : public Executor {
 public:
  explicit CallThreads(int threads = 0) noexcept
      : threads_(threads >= 1 ? threads : ThreadExecutor().concurrency()) {}
  [[nodiscard]] int concurrency() const noexcept override { return threads_; }
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override {
    all().run(count, task, argument);
  }

 private:
  /// Starts as many threads as calls request. Never destroyed, because Python may exit while a call
  /// runs.
  static ThreadExecutor& all() noexcept {
    alignas(ThreadExecutor) static std::byte memory[sizeof(ThreadExecutor)];
    static auto& executor = *::new (memory) ThreadExecutor(std::numeric_limits<int>::max());
    return executor;
  }

  int threads_;
};

}  // namespace tautstring::numpy
