#include "support/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tautstring_tasks {
namespace {

TEST(Parallel, DoesEachItemOnce) {
  for (const int threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> done(100);
    EXPECT_TRUE(for_each(done.size(), threads, [&](std::size_t i) { ++done[i]; }));
    for (const auto& each : done) EXPECT_EQ(each, 1);
  }
}

TEST(Parallel, NoItemIsNoWork) {
  EXPECT_TRUE(for_each(0, 3, [](std::size_t) { FAIL(); }));
}

TEST(Parallel, AnExceptionOfTheWorkIsThrownAgain) {
  const auto fail = [](std::size_t i) {
    if (i == 3) throw std::runtime_error("of item 3");
  };
  EXPECT_THROW(for_each(10, 2, fail), std::runtime_error);
}

TEST(Parallel, ReportsOnTheCallingThreadAndStopsWhenTold) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> done = 0;
  const auto work = [&](std::size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++done;
  };
  const auto stop = [&](std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    return false;
  };
  EXPECT_FALSE(for_each(100000, 2, work, stop));
  EXPECT_LT(done, 100000);
}

TEST(Parallel, AnExceptionOfTheReportStopsTheWork) {
  const auto work = [](std::size_t) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
  const auto fail = [](std::size_t) -> bool { throw std::runtime_error("of the report"); };
  EXPECT_THROW(for_each(100000, 2, work, fail), std::runtime_error);
}

}  // namespace
}  // namespace tautstring_tasks
