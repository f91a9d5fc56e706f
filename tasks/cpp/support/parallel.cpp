#include "support/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tautstring_tasks {
namespace {

/// What the threads of a call share.
class Shared {
 public:
  Shared(std::size_t count, std::size_t threads) : count_(count), running_(threads) {}

  /// Does items until none is left or the work is stopped.
  void run(const std::function<void(std::size_t i)>& work) noexcept {
    try {
      while (!stopped_) {
        const std::size_t i = next_++;
        if (i >= count_) break;
        work(i);
        ++done_;
      }
    } catch (...) {
      stopped_ = true;
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) ended_.notify_all();
  }

  /// Reports until no thread runs.
  void wait(const KeepGoing& keep_going) {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kBetweenReports, [&] { return running_ == 0; })) {
      lock.unlock();
      if (!stopped_ && keep_going && !keep_going(done_)) stopped_ = true;
      lock.lock();
    }
  }

  void stop() { stopped_ = true; }

  /// Returns whether all was done.
  [[nodiscard]] bool finish() const {
    if (error_) std::rethrow_exception(error_);
    return done_ == count_;
  }

 private:
  const std::size_t count_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> done_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable ended_;
  std::size_t running_;
  std::exception_ptr error_;
};

}  // namespace

int hardware_threads() noexcept {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

bool for_each(std::size_t count, int threads, const std::function<void(std::size_t i)>& work,
              const KeepGoing& keep_going) {
  const auto wanted = static_cast<std::size_t>(threads >= 1 ? threads : hardware_threads());
  const std::size_t workers = std::min(wanted, count);
  if (workers == 0) return true;
  Shared shared(count, workers);
  {
    std::vector<std::jthread> running;  // joined at the end of the block, also by an exception
    running.reserve(workers);
    try {
      for (std::size_t i = 0; i < workers; ++i) running.emplace_back([&] { shared.run(work); });
      shared.wait(keep_going);
    } catch (...) {
      shared.stop();
      throw;
    }
  }
  return shared.finish();
}

}  // namespace tautstring_tasks
