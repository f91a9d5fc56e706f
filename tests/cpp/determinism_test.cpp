// The same bits for any number of threads, any position in the batch, any run, with or without the
// caller's workspace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kRows = 700;
constexpr std::int64_t kLength = 57;

struct Batch {
  Batch() : x(kRows * kLength), weight(kRows * kLength), lam(kRows) {
    Random random(base_seed());
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Family& family = families()[random() % families().size()];
      const std::vector<double> row = family.make(random, kLength);
      std::copy(row.begin(), row.end(), x.begin() + r * kLength);
      lam[static_cast<std::size_t>(r)] = static_cast<float>(r % 40) / 16;
    }
    for (float& value : weight) value = static_cast<float>(random() % 4);
  }
  std::vector<float> x, weight, lam;
};

struct Result {
  std::vector<float> y, grad_x, grad_lam, grad_weight;
  std::vector<std::uint32_t> partition;
  bool operator==(const Result&) const = default;
};

Result run(const Batch& batch, const Context& context, std::int64_t first = 0,
           std::int64_t rows = kRows) {
  const auto size = static_cast<std::size_t>(rows * kLength);
  Result result{
      std::vector<float>(size), std::vector<float>(size),
      std::vector<float>(static_cast<std::size_t>(rows)), std::vector<float>(size),
      std::vector<std::uint32_t>(static_cast<std::size_t>(rows * partition_words(kLength)))};
  const auto x = view(batch.x.data() + first * kLength, {rows, kLength});
  const auto weight = view(batch.weight.data() + first * kLength, {rows, kLength});
  auto status =
      prox_tv1d({.x = x, .lam = view(batch.lam.data() + first, {rows, 1}), .weight = weight},
                view(result.y.data(), {rows, kLength}), result.partition, context);
  EXPECT_TRUE(status.ok());
  status = prox_tv1d_backward({.partition = result.partition,
                               .x = x,
                               .y = view(result.y.data(), {rows, kLength}),
                               .weight = weight},
                              x,
                              {.x = view(result.grad_x.data(), {rows, kLength}),
                               .lam = view(result.grad_lam.data(), {rows, 1}),
                               .weight = view(result.grad_weight.data(), {rows, kLength})},
                              context);
  EXPECT_TRUE(status.ok());
  return result;
}

TEST(Determinism, SameBitsForAnyNumberOfThreads) {
  const Batch batch;
  const Result alone = run(batch, {});
  for (const int threads : {1, 2, 3, 8, 33}) {
    ThreadExecutor executor(threads);
    EXPECT_TRUE(run(batch, {.executor = &executor}) == alone) << threads;
  }
}

TEST(Determinism, SameBitsFromRunToRun) {
  const Batch batch;
  ThreadExecutor executor(4);
  const Result first = run(batch, {.executor = &executor});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(run(batch, {.executor = &executor}) == first);
}

TEST(Determinism, SameBitsAtAnyPlaceInTheBatch) {
  const Batch batch;
  const Result whole = run(batch, {});
  for (const std::int64_t row : {0, 1, 99, 350, 699}) {
    const Result alone = run(batch, {}, row, 1);
    for (std::int64_t i = 0; i < kLength; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const auto at = static_cast<std::size_t>(row * kLength + i);
      ASSERT_EQ(alone.y[k], whole.y[at]);
      ASSERT_EQ(alone.grad_x[k], whole.grad_x[at]);
      ASSERT_EQ(alone.grad_weight[k], whole.grad_weight[at]);
    }
    ASSERT_EQ(alone.grad_lam[0], whole.grad_lam[static_cast<std::size_t>(row)]);
  }
}

TEST(Determinism, SameBitsInTheCallersWorkspace) {
  const Batch batch;
  ThreadExecutor executor(3);
  Context context = {.executor = &executor};
  std::size_t bytes = 0;
  const auto x = view(batch.x.data(), {kRows, kLength});
  ASSERT_TRUE(prox_tv1d_workspace(x, true, -1, context, bytes).ok());
  ASSERT_GT(bytes, 0U);
  const std::unique_ptr<void, decltype(&std::free)> memory(
      std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
  context.workspace = memory.get();
  context.workspace_size = bytes;
  EXPECT_TRUE(run(batch, context) == run(batch, {}));
}

}  // namespace
}  // namespace tautstring::testing
