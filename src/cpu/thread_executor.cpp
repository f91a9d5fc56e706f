// The thread pool: helpers that wait between runs.
#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "tautstring/context.h"

namespace tautstring {
namespace {

/// Distinguishes a forked child from its parent.
long process_id() noexcept {
#if __has_include(<unistd.h>)
  return static_cast<long>(getpid());
#else
  return 0;
#endif
}

}  // namespace

/// The helpers of one process. A run is open to guests: helpers that wake up in time take part and
/// leave when no task is left. The caller waits for those that joined, never for one to wake up.
class ThreadExecutor::Helpers {
 public:
  Helpers() noexcept = default;
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;
  ~Helpers() {
    ends_ = true;
    for (const auto& helper : helpers_) helper->call();
  }

  [[nodiscard]] bool are_of_this_process() const noexcept { return process_ == process_id(); }
  /// Whether the caller has the helpers to itself, until release().
  [[nodiscard]] bool acquire() noexcept { return !is_busy_.exchange(true); }
  void release() noexcept { is_busy_ = false; }

  void run(int count, void (*task)(void* argument, int i), void* argument, int wanted) noexcept {
    start(wanted);
    task_ = task;
    argument_ = argument;
    count_ = count;
    next_ = 0;
    guests_ = 0;
    const int called = std::min(wanted, static_cast<int>(helpers_.size()));
    for (int i = 0; i < called; ++i) helpers_[static_cast<std::size_t>(i)]->call();
    take_tasks();
    guests_ += kClosed;
    for (int guests = guests_; guests != kClosed; guests = guests_) guests_.wait(guests);
  }

 private:
  static constexpr int kClosed = std::numeric_limits<int>::min();

  struct Helper {
    explicit Helper(Helpers& all) : thread([this, &all] { all.help(*this); }) {}
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;
    ~Helper() { thread.join(); }
    void call() noexcept {
      ++calls;
      calls.notify_one();
    }
    std::atomic<int> calls{0};
    std::thread thread;  // last, since it reads the others; libc++ has no std::jthread
  };

  /// Starts helpers until there are `wanted`, or as many as the system allows.
  void start(int wanted) noexcept {
    try {
      // First, since a helper that has started cannot be taken back.
      helpers_.reserve(static_cast<std::size_t>(wanted));
      while (static_cast<int>(helpers_.size()) < wanted) {
        helpers_.push_back(std::make_unique<Helper>(*this));
      }
    } catch (const std::exception&) {
      // Out of memory or threads: the helpers that did start, and the caller, take all tasks.
    }
  }

  void help(Helper& self) noexcept {
    for (int seen = 0;;) {
      self.calls.wait(seen);
      seen = self.calls;
      if (ends_) return;
      if (!enter()) continue;
      take_tasks();
      if (--guests_ == kClosed) guests_.notify_one();
    }
  }

  /// Joins the open run, if there is one. After that, its task may be read.
  bool enter() noexcept {
    int guests = guests_;
    while (guests >= 0) {
      if (guests_.compare_exchange_weak(guests, guests + 1)) return true;
    }
    return false;
  }

  void take_tasks() noexcept {
    for (int i = next_++; i < count_; i = next_++) task_(argument_, i);
  }

  const long process_ = process_id();
  std::atomic<bool> is_busy_{false};
  std::atomic<bool> ends_{false};
  std::atomic<int> guests_{kClosed};  // working in the open run; below 0: closed
  void (*task_)(void* argument, int i) = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};
  std::vector<std::unique_ptr<Helper>> helpers_;  // last: they read the others
};

ThreadExecutor::ThreadExecutor(int threads) noexcept
    : threads_(threads >= 1 ? threads
                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))) {
}

ThreadExecutor::~ThreadExecutor() {
  Helpers* helpers = helpers_;
  // In a forked child, the parent's helpers do not run and cannot be joined.
  if (helpers != nullptr && helpers->are_of_this_process()) delete helpers;
}

ThreadExecutor::Helpers* ThreadExecutor::helpers() noexcept {
  Helpers* current = helpers_;
  if (current != nullptr && current->are_of_this_process()) return current;
  auto* fresh = new (std::nothrow) Helpers;
  if (fresh == nullptr || helpers_.compare_exchange_strong(current, fresh)) return fresh;
  delete fresh;  // another thread was faster
  return current;
}

void ThreadExecutor::run(int count, void (*task)(void* argument, int i), void* argument) noexcept {
  const int wanted = std::min(count, threads_) - 1;
  Helpers* all = wanted > 0 ? helpers() : nullptr;
  if (all == nullptr || !all->acquire()) {
    for (int i = 0; i < count; ++i) task(argument, i);
    return;
  }
  all->run(count, task, argument, wanted);
  all->release();
}

}  // namespace tautstring
