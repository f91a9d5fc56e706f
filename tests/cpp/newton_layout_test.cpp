// Newton on every dtype and layout. Threads, the caller's workspace and the position of a row
// change no bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/newton.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kRows = 90;
constexpr std::int64_t kLength = 140;

/// Rows of all families, with lams from 0 on: copied, solved by iterations, or solved directly.
struct Batch {
  Batch() {
    Random random(base_seed());
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Family& family = families()[static_cast<std::size_t>(r) % families().size()];
      std::vector<double> row = family.make(random, kLength);
      for (double& value : row) value = std::clamp(value, -3e4, 3e4);  // the range of float16
      x.insert(x.end(), row.begin(), row.end());
      lam.push_back(static_cast<double>(r % 40) / 16);
    }
  }
  [[nodiscard]] NewtonCall solve(const Context& context = {}) const {
    return {x, kRows, view(lam.data(), {kRows, 1}), {.iterations = 3}, context};
  }
  std::vector<double> x, lam;
};

void expect_same(const NewtonCall& found, const NewtonCall& expected) {
  EXPECT_EQ(found.y, expected.y);
  EXPECT_EQ(found.dual, expected.dual);
  EXPECT_EQ(found.gap, expected.gap);
  EXPECT_EQ(found.iterations, expected.iterations);
  EXPECT_EQ(found.converged, expected.converged);
  EXPECT_EQ(found.partition, expected.partition);
}

TEST(NewtonLayout, ThreadsDoNotChangeBits) {
  const Batch batch;
  const NewtonCall expected = batch.solve();
  EXPECT_GT(std::count(expected.converged.begin(), expected.converged.end(), 0), 3);
  for (const int threads : {1, 2, 3, 8}) {
    ThreadExecutor executor(threads);
    expect_same(batch.solve({.executor = &executor}), expected);
  }
}

TEST(NewtonLayout, APlaceInTheBatchDoesNotChangeBits) {
  const Batch batch;
  const NewtonCall whole = batch.solve();
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto first = batch.x.begin() + static_cast<std::ptrdiff_t>(row * kLength);
    const NewtonCall alone({first, first + kLength}, 1, batch.lam[row], {.iterations = 3});
    ASSERT_TRUE(std::equal(alone.y.begin(), alone.y.end(),
                           whole.y.begin() + static_cast<std::ptrdiff_t>(row * kLength)));
    ASSERT_TRUE(std::equal(alone.dual.begin(), alone.dual.end(),
                           whole.dual.begin() + static_cast<std::ptrdiff_t>(row * (kLength - 1))));
    ASSERT_EQ(alone.gap[0], whole.gap[row]);
    ASSERT_EQ(alone.iterations[0], whole.iterations[row]);
  }
}

/// The workspace has exactly the required size, with guards on both sides, and is full of NaN.
TEST(NewtonLayout, TheCallersWorkspaceIsEnough) {
  constexpr std::size_t kGuard = 128;
  constexpr std::byte kUntouched{0xFF};
  for (const auto& [rows, n] : {std::pair{1, 1}, {3, 2}, {2, 32}, {2, 33}, {5, 65}, {3, 1025}}) {
    Random random(base_seed());
    const std::vector<double> x = families()[0].make(random, rows * n);
    for (const int threads : {0, 2, 3}) {
      ThreadExecutor executor(threads);
      Context context = {.executor = threads == 0 ? nullptr : &executor};
      std::size_t bytes = 0;
      ASSERT_TRUE(prox_tv1d_newton_workspace(view(x.data(), {rows, n}), -1, context, bytes).ok());
      std::vector<std::byte> memory(bytes + 2 * kGuard + 64, kUntouched);
      const auto address = reinterpret_cast<std::uintptr_t>(memory.data()) + kGuard;
      const std::size_t before = kGuard + (64 - address % 64) % 64;
      context.workspace = memory.data() + before;
      context.workspace_size = bytes;
      for (const int iterations : {1, 100}) {  // some are solved directly
        expect_same(NewtonCall(x, rows, 0.5, {.iterations = iterations}, context),
                    NewtonCall(x, rows, 0.5, {.iterations = iterations}));
      }
      const auto untouched = [](std::byte value) { return value == kUntouched; };
      EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + static_cast<std::ptrdiff_t>(before),
                              untouched));
      EXPECT_TRUE(std::all_of(memory.begin() + static_cast<std::ptrdiff_t>(before + bytes),
                              memory.end(), untouched));
    }
  }
}

TEST(NewtonLayout, ColumnsAndReversedArraysEqualRows) {
  constexpr std::int64_t kHeight = 50;
  constexpr std::int64_t kWidth = 21;
  Random random(base_seed());
  const std::vector<double> x = families()[0].make(random, kHeight * kWidth);
  const std::vector<double> lam = {0.2, 0.9};  // for columns, alternating
  std::vector<double> y(x.size(), -9), dual((kHeight - 1) * kWidth), gap(kWidth), turned;
  std::vector<double> lam_of_columns;
  for (std::int64_t c = 0; c < kWidth; ++c) {
    for (std::int64_t r = 0; r < kHeight; ++r) {
      turned.push_back(x[static_cast<std::size_t>(r * kWidth + c)]);
    }
    lam_of_columns.push_back(lam[static_cast<std::size_t>(c % 2)]);
  }
  // y is written upside down.
  const View out = view(y.data() + (kHeight - 1) * kWidth, {kHeight, kWidth}, {-kWidth, 1});
  const Status status = prox_tv1d_newton(
      {.x = view(x.data(), {kHeight, kWidth}),
       .lam = view(lam_of_columns.data(), {1, kWidth}),
       .dim = 0},
      {}, {.y = out, .dual = view(dual.data(), {kHeight - 1, kWidth}), .gap = gap});
  ASSERT_TRUE(status.ok()) << message(status);
  const NewtonCall rows(turned, kWidth, view(lam_of_columns.data(), {kWidth, 1}));
  EXPECT_EQ(gap, rows.gap);
  for (std::int64_t c = 0; c < kWidth; ++c) {
    for (std::int64_t r = 0; r < kHeight; ++r) {
      ASSERT_EQ(y[static_cast<std::size_t>((kHeight - 1 - r) * kWidth + c)],
                rows.y[static_cast<std::size_t>(c * kHeight + r)]);
      if (r + 1 == kHeight) continue;
      ASSERT_EQ(dual[static_cast<std::size_t>(r * kWidth + c)],
                rows.dual[static_cast<std::size_t>(c * (kHeight - 1) + r)]);
    }
  }
}

TEST(NewtonLayout, NothingIsWrittenBetweenElements) {
  constexpr double kGuard = -77;
  Random random(base_seed());
  const std::vector<double> x = families()[0].make(random, 4 * 40);
  const NewtonCall expected(x, 4, 0.5);
  std::vector<double> y(4 * 150, kGuard), dual(4 * 150, kGuard);
  const Status status = prox_tv1d_newton({.x = view(x.data(), {4, 40}), .lam = 0.5}, {},
                                         {.y = view(y.data() + 2, {4, 40}, {150, 3}),
                                          .dual = view(dual.data() + 1, {4, 39}, {150, 2})});
  ASSERT_TRUE(status.ok()) << message(status);
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t i = 0; i < 40; ++i) {
      ASSERT_EQ(std::exchange(y[2 + r * 150 + i * 3], kGuard), expected.y[r * 40 + i]);
      if (i == 39) continue;
      ASSERT_EQ(std::exchange(dual[1 + r * 150 + i * 2], kGuard), expected.dual[r * 39 + i]);
    }
  }
  EXPECT_EQ(y, std::vector<double>(y.size(), kGuard));
  EXPECT_EQ(dual, std::vector<double>(dual.size(), kGuard));
}

class NewtonStorage : public ::testing::TestWithParam<DType> {};

TEST_P(NewtonStorage, ResultIsTheFloat64ResultRoundedOnce) {
  const DType dtype = GetParam();
  const Batch batch;
  const std::vector<double> rounded_x = Array(dtype, batch.x).values();
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    const NewtonCall expected(rounded_x, kRows, view(batch.lam.data(), {kRows, 1}), {}, {}, mode);
    Array x(dtype, batch.x), y(dtype, batch.x.size()), dual(dtype, expected.dual.size());
    std::vector<std::uint32_t> partition(expected.partition.size());
    const auto solve = [&](View to) {
      const Status status = prox_tv1d_newton(
          {.x = x.view({kRows, kLength}), .lam = view(batch.lam.data(), {kRows, 1}), .mode = mode},
          {}, {.y = to, .partition = partition, .dual = dual.view({kRows, kLength - 1})});
      EXPECT_TRUE(status.ok()) << message(status);
    };
    solve(y.view({kRows, kLength}));
    EXPECT_EQ(y.values(), Array(dtype, expected.y).values());
    EXPECT_EQ(dual.values(), Array(dtype, expected.dual).values());
    EXPECT_EQ(partition, expected.partition);
    solve(x.view({kRows, kLength}));  // in place
    EXPECT_EQ(x.values(), y.values());
    EXPECT_EQ(partition, expected.partition);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NewtonStorage,
                         ::testing::Values(DType::float16, DType::bfloat16, DType::float32,
                                           DType::float64),
                         [](const auto& test) { return dtype_name(test.param); });

/// Rows are read before they are written, including those that are solved directly.
TEST(NewtonLayout, InPlaceIsTheSameForEveryKindOfRow) {
  const Batch batch;
  const NewtonCall expected = batch.solve();
  std::vector<double> both = batch.x, dual(expected.dual.size()), gap(kRows);
  const Status status = prox_tv1d_newton(
      {.x = view(both.data(), {kRows, kLength}), .lam = view(batch.lam.data(), {kRows, 1})},
      {.iterations = 3},
      {.y = view(both.data(), {kRows, kLength}),
       .dual = view(dual.data(), {kRows, kLength - 1}),
       .gap = gap});
  ASSERT_TRUE(status.ok()) << message(status);
  EXPECT_EQ(both, expected.y);
  EXPECT_EQ(dual, expected.dual);
  EXPECT_EQ(gap, expected.gap);
}

TEST(NewtonLayout, WhatIsNotAskedForChangesNothing) {
  const Batch batch;
  const NewtonCall expected = batch.solve();
  std::vector<double> y(batch.x.size());
  ASSERT_TRUE(prox_tv1d_newton({.x = view(batch.x.data(), {kRows, kLength}),
                                .lam = view(batch.lam.data(), {kRows, 1})},
                               {.iterations = 3}, {.y = view(y.data(), {kRows, kLength})})
                  .ok());
  EXPECT_EQ(y, expected.y);
}

}  // namespace
}  // namespace tautstring::testing
