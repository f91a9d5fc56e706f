#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "tautstring/context.h"

namespace tautstring {

ThreadExecutor::ThreadExecutor(int threads) noexcept
    : threads_(threads >= 1 ? threads
                            : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))) {
}

void ThreadExecutor::run(int count, void (*task)(void* argument, int i), void* argument) noexcept {
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(argument, i);
  };
  std::vector<std::jthread> helpers;
  try {
    const int wanted = std::min(count, threads_) - 1;
    helpers.reserve(static_cast<std::size_t>(std::max(wanted, 0)));
    for (int i = 0; i < wanted; ++i) helpers.emplace_back(work);
  } catch (const std::exception&) {
    // No memory or no thread to be had: those that did start, and this one,
    // take all tasks.
  }
  work();
}

}  // namespace tautstring
