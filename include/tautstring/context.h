// Where and with what a call runs: the device, the threads, the scratch memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tautstring/export.h"

namespace tautstring {

/// Threads, lent by the caller. The library starts none of its own.
class TAUTSTRING_API Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// How many tasks can run at the same time (at least 1).
  [[nodiscard]] virtual int concurrency() const noexcept = 0;

  /// Calls task(argument, i) once for every i in [0, count), in any order and on
  /// any thread, and returns when all have returned. Tasks never block on one
  /// another, so running them one after the other is allowed.
  virtual void run(int count, void (*task)(void* argument, int i), void* argument) noexcept = 0;
};

/// A pool for programs that have none. The first run() starts up to `threads` - 1 helpers; they
/// wait for the next one until the executor is destroyed. Where the system refuses a thread the
/// others do its share.
///
/// Calls may come from several threads, and from within a task: one that finds the helpers busy
/// runs on its own thread alone. In a forked child the executor starts helpers anew.
class TAUTSTRING_API ThreadExecutor final : public Executor {
 public:
  /// `threads` < 1 means one for each hardware thread.
  explicit ThreadExecutor(int threads = 0) noexcept;
  ~ThreadExecutor() override;
  [[nodiscard]] int concurrency() const noexcept override { return threads_; }
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override;

 private:
  class Helpers;
  [[nodiscard]] Helpers* helpers() noexcept;

  int threads_;
  std::atomic<Helpers*> helpers_{nullptr};  // of this process; null: none yet
};

/// Lets a caller stop a call that is under way.
class TAUTSTRING_API Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  virtual ~Interrupt() = default;

  /// Whether the call is to stop. The call asks once before it begins and then
  /// between small parts of its work, mostly less than a millisecond apart: only on
  /// the thread that made the call, and never again after a yes. The other threads
  /// stop after the parts that they are working on.
  [[nodiscard]] virtual bool wanted() noexcept = 0;
};

enum class Device : std::uint8_t { cpu, cuda };

/// Results do not depend on any of this, bit for bit, on one kind of device.
struct Context {
  Device device = Device::cpu;
  Executor* executor = nullptr;    // null: the calling thread alone (CPU)
  void* stream = nullptr;          // a cudaStream_t (CUDA); null: the default stream
  void* workspace = nullptr;       // scratch memory, aligned to 64 bytes, of the size that
  std::size_t workspace_size = 0;  // prox_tv1d_workspace or prox_tv2d_workspace gives; null: the
                                   // call gets its own (CPU), which the device path never does
                                   // (CUDA: an error)
  Interrupt* interrupt = nullptr;  // null: the call runs to its end (CUDA: always)
};

}  // namespace tautstring
