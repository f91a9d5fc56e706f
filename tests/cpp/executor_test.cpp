#include <gtest/gtest.h>

#include <atomic>
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
