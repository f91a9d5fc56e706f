#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

TEST(Executor, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 7}) {
    ThreadExecutor executor(threads);
    for (const int count : {0, 1, 5, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
      executor.run(
          count,
          [](void* argument, int i) {
            ++(*static_cast<std::vector<std::atomic<int>>*>(argument))[static_cast<std::size_t>(i)];
          },
          &calls);
      for (const auto& call : calls) ASSERT_EQ(call.load(), 1);
    }
  }
}

TEST(Executor, DefaultsToTheMachine) {
  EXPECT_GE(ThreadExecutor().concurrency(), 1);
  EXPECT_GE(ThreadExecutor(-3).concurrency(), 1);
  EXPECT_EQ(ThreadExecutor(5).concurrency(), 5);
}

/// Counts its tasks, and the threads that ran them.
class Count {
 public:
  void run(Executor& executor, int count) { executor.run(count, &Count::add, this); }
  [[nodiscard]] int tasks() const { return tasks_; }
  [[nodiscard]] std::size_t threads() const { return threads_.size(); }

 private:
  static void add(void* argument, int /*i*/) {
    auto& self = *static_cast<Count*>(argument);
    const std::scoped_lock lock(self.mutex_);
    self.threads_.insert(std::this_thread::get_id());
    ++self.tasks_;
  }

  std::mutex mutex_;
  int tasks_ = 0;
  std::set<std::thread::id> threads_;
};

TEST(Executor, KeepsItsThreadsFromRunToRun) {
  ThreadExecutor executor(3);
  Count count;
  for (int run = 0; run < 200; ++run) count.run(executor, 20);
  EXPECT_EQ(count.tasks(), 4000);
  EXPECT_LE(count.threads(), 3U);
}

TEST(Executor, RunsWithinATask) {
  ThreadExecutor executor(2);
  struct Nested {
    ThreadExecutor& executor;
    std::atomic<int> inner{0};
  } nested{executor};
  executor.run(
      8,
      [](void* argument, int) {
        auto& self = *static_cast<Nested*>(argument);
        self.executor.run(
            5, [](void* inner, int) { ++*static_cast<std::atomic<int>*>(inner); }, &self.inner);
      },
      &nested);
  EXPECT_EQ(nested.inner, 40);
}

TEST(Executor, RunsForSeveralThreadsAtATime) {
  ThreadExecutor executor(2);
  std::vector<Count> counts(4);
  {
    std::vector<std::jthread> callers;
    for (Count& count : counts) {
      callers.emplace_back([&] {
        for (int run = 0; run < 100; ++run) count.run(executor, 7);
      });
    }
  }
  for (const Count& count : counts) EXPECT_EQ(count.tasks(), 700);
}

TEST(Executor, RunsInAForkedChild) {
  ThreadExecutor executor(2);
  Count before;
  before.run(executor, 50);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Count within;
    for (int run = 0; run < 50; ++run) within.run(executor, 10);
    _exit(within.tasks() == 500 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Count after;
  after.run(executor, 50);
  EXPECT_EQ(after.tasks(), 50);
}

/// An executor that runs tasks one after the other, last first.
class Backwards final : public Executor {
 public:
  [[nodiscard]] int concurrency() const noexcept override { return 4; }
  void run(int count, void (*task)(void*, int), void* argument) noexcept override {
    for (int i = count - 1; i >= 0; --i) task(argument, i);
    tasks = count;
  }
  int tasks = 0;
};

TEST(Executor, TheCallersIsUsedWhateverItsOrder) {
  std::vector<float> x(4 * 8192), expected(x.size()), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 101);
  const Problem1d problem = {.x = view(x.data(), {32, 1024}), .lam = 3.0};
  ASSERT_TRUE(prox_tv1d(problem, view(expected.data(), {32, 1024})).ok());
  Backwards executor;
  ASSERT_TRUE(prox_tv1d(problem, view(y.data(), {32, 1024}), {}, {.executor = &executor}).ok());
  EXPECT_EQ(executor.tasks, 4);
  EXPECT_EQ(y, expected);
}

}  // namespace
}  // namespace tautstring::testing
