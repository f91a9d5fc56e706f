#include "pool.h"

namespace bench {

Pool::Pool(int threads) {
  for (int i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
}

Pool::~Pool() {
  ends_ = true;
  ++runs_;
  runs_.notify_all();
}

void Pool::run(int count, void (*task)(void* argument, int i), void* argument) noexcept {
  task_ = task;
  argument_ = argument;
  count_ = count;
  next_ = 0;
  working_ = static_cast<int>(helpers_.size());
  ++runs_;
  runs_.notify_all();
  take_tasks();
  for (int working = working_; working != 0; working = working_) working_.wait(working);
}

void Pool::help() {
  for (int seen = 0;;) {
    runs_.wait(seen);
    seen = runs_;
    if (ends_) return;
    take_tasks();
    --working_;
    working_.notify_one();
  }
}

void Pool::take_tasks() noexcept {
  for (int i = next_++; i < count_; i = next_++) task_(argument_, i);
}

}  // namespace bench
