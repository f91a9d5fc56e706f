// What a call runs on: the device, the threads, the scratch memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tautstring/export.h"

namespace tautstring {

/// Threads provided by the caller. The library starts none of its own.
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

/// A thread pool for programs that have none. The first run() starts up to `threads` - 1 helpers;
/// they wait for further calls until the executor is destroyed. If the system refuses to start a
/// thread, the other threads do its work.
///
/// run() may be called from several threads, and from within a task: a call that finds the helpers
/// busy runs on its own thread alone. In a forked child process the executor starts new helpers.
class TAUTSTRING_API ThreadExecutor final : public Executor {
 public:
  /// `threads` < 1 means one per hardware thread.
  explicit ThreadExecutor(int threads = 0) noexcept;
  ~ThreadExecutor() override;
  [[nodiscard]] int concurrency() const noexcept override { return threads_; }
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override;

 private:
  class Helpers;
  [[nodiscard]] Helpers* helpers() noexcept;

  int threads_;
  std::atomic<Helpers*> helpers_{nullptr};  // of this process; null: not started yet
};

/// Lets a caller stop a running call.
class TAUTSTRING_API Interrupt {
 public:
  Interrupt() = default;
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  virtual ~Interrupt() = default;

  /// Whether the call should stop. The call checks this once before it begins and then between
  /// small parts of its work, mostly less than a millisecond apart. It does so only on the thread
  /// that made the call, and never again once the answer was true. The other threads stop after the
  /// parts that they are working on.
  [[nodiscard]] virtual bool wanted() noexcept = 0;
};

enum class Device : std::uint8_t { cpu, cuda };

/// On one kind of device, results do not depend on the context, bit for bit.
struct Context {
  Device device = Device::cpu;
  Executor* executor = nullptr;    // null: the calling thread alone (CPU)
  void* stream = nullptr;          // a cudaStream_t (CUDA); null: the default stream
  void* workspace = nullptr;       // scratch memory, aligned to 64 bytes; its size is what
  std::size_t workspace_size = 0;  // prox_tv1d_workspace or prox_tv2d_workspace returns; null: the
                                   // call allocates its own (CPU) or fails (CUDA, where calls never
                                   // allocate). See also release_scratch
  Interrupt* interrupt = nullptr;  // null: the call runs to its end (CUDA: always)
};

/// The most scratch memory in bytes that the library keeps between calls.
inline constexpr std::size_t kMostKeptScratch = std::size_t{64} << 20;

/// Frees the scratch memory that the library keeps between calls.
///
/// A call on the CPU without a workspace keeps its scratch memory for later calls on any thread,
/// because getting fresh memory from the system takes time. The process keeps at most
/// kMostKeptScratch; a call that needs more returns its memory at once. Calls that run at the same
/// time are not affected, and keep theirs when they return.
TAUTSTRING_API void release_scratch() noexcept;

}  // namespace tautstring
