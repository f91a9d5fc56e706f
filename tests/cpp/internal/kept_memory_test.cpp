// Scratch memory that is kept between calls.
#include "cpu/kept_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

using detail::kept_memory;
using detail::KeptMemory;
using detail::MemoryBlock;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(KeptMemory, IsUsedAgain) {
  KeptMemory kept;
  MemoryBlock* const block = kept.take(3 * kMegabyte);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(kept.size(), 0U);
  kept.give_back(block);
  EXPECT_EQ(kept.size(), 3 * kMegabyte);
  MemoryBlock* const again = kept.take(2 * kMegabyte);
  EXPECT_EQ(again, block);
  EXPECT_EQ(kept.size(), 0U);
  kept.give_back(again);
  kept.release();
}

TEST(KeptMemory, IsBounded) {
  KeptMemory kept;
  std::vector<MemoryBlock*> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(kept.take(kMostKeptScratch / 4));
  for (MemoryBlock* block : blocks) kept.give_back(block);
  EXPECT_EQ(kept.size(), kMostKeptScratch);
  kept.give_back(kept.take(kMostKeptScratch + 1));
  EXPECT_EQ(kept.size(), kMostKeptScratch);
  kept.release();
}

TEST(KeptMemory, HasRoomForALargerBlock) {
  KeptMemory kept;
  std::vector<MemoryBlock*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(kept.take(kMostKeptScratch / 4));
  for (MemoryBlock* block : blocks) kept.give_back(block);
  kept.give_back(kept.take(kMostKeptScratch));
  EXPECT_EQ(kept.size(), kMostKeptScratch);
  kept.release();
}

TEST(KeptMemory, HasNoSmallBlocks) {
  KeptMemory kept;
  kept.give_back(kept.take(KeptMemory::kSmallest - 1));
  EXPECT_EQ(kept.size(), 0U);
}

TEST(KeptMemory, IsFreedOnRequest) {
  KeptMemory kept;
  MemoryBlock* const first = kept.take(kMegabyte);
  MemoryBlock* const second = kept.take(2 * kMegabyte);
  kept.give_back(first);
  kept.give_back(second);
  EXPECT_EQ(kept.size(), 3 * kMegabyte);
  kept.release();
  EXPECT_EQ(kept.size(), 0U);
}

TEST(KeptMemory, IsUsedByOneThreadAtATime) {
  KeptMemory kept;
  std::atomic<int> shared{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 300; ++i) {
          const std::size_t size = KeptMemory::kSmallest + static_cast<std::size_t>(i % 7) * 4096;
          MemoryBlock* const block = kept.take(size);
          std::byte* const bytes = block->bytes();
          const auto own = static_cast<std::byte>(t);
          bytes[0] = bytes[size - 1] = own;
          std::this_thread::yield();
          if (bytes[0] != own || bytes[size - 1] != own) ++shared;
          kept.give_back(block);
          if (i % 50 == 0) kept.release();
        }
      });
    }
  }
  EXPECT_EQ(shared, 0);
  EXPECT_LE(kept.size(), kMostKeptScratch);
  kept.release();
  EXPECT_EQ(kept.size(), 0U);
}

/// What the child finds must be its own: the parent's stays as it is.
TEST(KeptMemory, RunsInAForkedChild) {
  KeptMemory kept;
  MemoryBlock* const block = kept.take(kMegabyte);
  *block->bytes() = std::byte{1};
  kept.give_back(block);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    MemoryBlock* const own = kept.take(kMegabyte);
    const bool is_kept = own == block && *own->bytes() == std::byte{1};
    *own->bytes() = std::byte{2};
    kept.give_back(own);
    kept.release();
    _exit(is_kept && kept.size() == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(kept.take(kMegabyte), block);
  EXPECT_EQ(*block->bytes(), std::byte{1});
  detail::free_block(block);
}

/// A call, and all that it writes.
struct Call {
  const char* name;
  std::function<std::vector<float>(const Context&)> results;
};

std::vector<float> noise(std::int64_t count) {
  Random random(base_seed());
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& sample : x) sample = normal(random);
  return x;
}

std::vector<float> solve_rows(std::int64_t rows, std::int64_t n, const Context& context) {
  const std::vector<float> x = noise(rows * n);
  std::vector<float> y(x.size()), grad_x(x.size());
  std::vector<std::uint32_t> partition(static_cast<std::size_t>(rows * partition_words(n)));
  const ConstView in = view(x.data(), {rows, n});
  EXPECT_TRUE(prox_tv1d({.x = in, .lam = 1.0}, view(y.data(), {rows, n}), partition, context).ok());
  EXPECT_TRUE(prox_tv1d_backward({.partition = partition}, in,
                                 {.x = view(grad_x.data(), {rows, n})}, context)
                  .ok());
  y.insert(y.end(), grad_x.begin(), grad_x.end());
  return y;
}

std::vector<float> solve_images(std::int64_t count, std::int64_t size, const Context& context) {
  const std::vector<float> x = noise(count * size * size);
  std::vector<float> y(x.size());
  const Problem2d problem = {
      .x = view(x.data(), {count, size, size}), .lam_rows = 0.5, .lam_cols = 0.5};
  EXPECT_TRUE(prox_tv2d(problem, {}, {.y = view(y.data(), {count, size, size})}, context).ok());
  return y;
}

std::vector<float> solve_by_newton(std::int64_t rows, std::int64_t n, const Context& context) {
  const std::vector<float> x = noise(rows * n);
  std::vector<float> y(x.size());
  EXPECT_TRUE(prox_tv1d_newton({.x = view(x.data(), {rows, n}), .lam = 1.0}, {},
                               {.y = view(y.data(), {rows, n})}, context)
                  .ok());
  return y;
}

const std::vector<Call>& calls() {
  static const std::vector<Call> all = {
      {"rows", [](const Context& context) { return solve_rows(256, 1024, context); }},
      {"a long row", [](const Context& context) { return solve_rows(1, 100'000, context); }},
      {"long rows", [](const Context& context) { return solve_rows(3, 70'000, context); }},
      {"images", [](const Context& context) { return solve_images(3, 160, context); }},
      {"Newton", [](const Context& context) { return solve_by_newton(256, 1024, context); }}};
  return all;
}

void fill_kept_memory(std::byte value) {
  release_scratch();
  MemoryBlock* const block = kept_memory.take(kMostKeptScratch);
  ASSERT_NE(block, nullptr);
  std::fill_n(block->bytes(), kMostKeptScratch, value);
  kept_memory.give_back(block);
}

TEST(KeptScratch, OfACallStaysUntilItIsReleased) {
  for (const Call& call : calls()) {
    release_scratch();
    ASSERT_EQ(kept_memory.size(), 0U);
    call.results({});
    EXPECT_GE(kept_memory.size(), KeptMemory::kSmallest) << call.name;
    EXPECT_LE(kept_memory.size(), kMostKeptScratch) << call.name;
  }
  release_scratch();
  EXPECT_EQ(kept_memory.size(), 0U);
}

TEST(KeptScratch, OfAThreadThatEndedServesOthers) {
  release_scratch();
  std::jthread([] { calls()[0].results({}); }).join();
  const std::size_t kept = kept_memory.size();
  EXPECT_GE(kept, KeptMemory::kSmallest);
  calls()[0].results({});
  EXPECT_EQ(kept_memory.size(), kept);
}

TEST(KeptScratch, LeavesAllBitsAsTheyAre) {
  ThreadExecutor executor(3);
  for (const Call& call : calls()) {
    for (const Context& context : {Context{}, Context{.executor = &executor}}) {
      fill_kept_memory(std::byte{0});
      const std::vector<float> expected = call.results(context);
      fill_kept_memory(std::byte{0xFF});  // NaN
      EXPECT_EQ(call.results(context), expected) << call.name;
    }
  }
}

TEST(KeptScratch, ServesSeveralCallersAtATime) {
  ThreadExecutor executor(2);
  std::vector<std::vector<float>> expected;
  for (const Call& call : calls()) expected.push_back(call.results({}));
  std::atomic<int> different{0};
  {
    std::vector<std::jthread> callers;
    for (std::size_t caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&, caller] {
        for (std::size_t i = 0; i < 2 * calls().size(); ++i) {
          const std::size_t which = (caller + i) % calls().size();
          const Context context = {.executor = i % 2 == 0 ? &executor : nullptr};
          if (calls()[which].results(context) != expected[which]) ++different;
          if (i == 3) release_scratch();
        }
      });
    }
  }
  EXPECT_EQ(different, 0);
  EXPECT_LE(kept_memory.size(), kMostKeptScratch);
}

}  // namespace
}  // namespace tautstring::testing
