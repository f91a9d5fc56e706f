// Threads that stay, as those of the frameworks that lend theirs to the library.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "tautstring/context.h"

namespace bench {

class Pool final : public tautstring::Executor {
 public:
  explicit Pool(int threads);
  ~Pool() override;

  [[nodiscard]] int concurrency() const noexcept override {
    return static_cast<int>(helpers_.size()) + 1;
  }
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override;

 private:
  void help();
  void take_tasks() noexcept;

  void (*task_)(void* argument, int i) = nullptr;
  void* argument_ = nullptr;
  int count_ = 0;
  std::atomic<int> next_{0};
  std::atomic<int> working_{0};  // helpers that have not finished
  std::atomic<int> runs_{0};     // so far; each is a call to the helpers
  std::atomic<bool> ends_{false};
  std::vector<std::jthread> helpers_;
};

}  // namespace bench
