// How much scratch memory calls on the CPU touch, and what they do without it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <new>
#include <random>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

std::vector<float> noise(std::int64_t count) {
  Random random(base_seed());
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& sample : x) sample = normal(random);
  return x;
}

/// A caller's workspace that is filled with a pattern.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes)
      : bytes_(bytes), memory_(new (std::align_val_t{kAlignment}) std::byte[bytes], &destroy) {
    std::fill_n(memory_.get(), bytes, kPattern);
  }

  [[nodiscard]] Context context() const {
    return {.workspace = memory_.get(), .workspace_size = bytes_};
  }
  [[nodiscard]] std::ptrdiff_t written_bytes() const {
    return static_cast<std::ptrdiff_t>(bytes_) -
           std::count(memory_.get(), memory_.get() + bytes_, kPattern);
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::byte kPattern{0xA5};
  static void destroy(std::byte* memory) {
    ::operator delete[](memory, std::align_val_t{kAlignment});
  }

  std::size_t bytes_;
  std::unique_ptr<std::byte[], void (*)(std::byte*)> memory_;
};

TEST(CallMemory, IsHardlyTouchedByALongRow) {
  constexpr std::int64_t kSamples = 1'000'000;
  const std::vector<float> x = noise(kSamples);
  std::vector<float> y(x.size());
  const ConstView row = view(x.data(), {1, kSamples});
  std::size_t bytes = 0;
  ASSERT_TRUE(prox_tv1d_workspace(row, false, -1, {}, bytes).ok());
  for (const double lam : {0.05, 1.0, 10.0}) {
    const Workspace workspace(bytes);
    ASSERT_TRUE(
        prox_tv1d({.x = row, .lam = lam}, view(y.data(), {1, kSamples}), {}, workspace.context())
            .ok());
    EXPECT_LT(workspace.written_bytes(), kSamples) << "of " << bytes << ", lam " << lam;
  }
}

TEST(CallMemory, ThatIsRefusedLeavesResultsAlone) {
  class Many final : public Executor {
   public:
    [[nodiscard]] int concurrency() const noexcept override { return 1 << 25; }
    void run(int, void (*)(void*, int), void*) noexcept override { ADD_FAILURE(); }
  } executor;  // with some megabytes each
  constexpr std::int64_t kSamples = 70'000;
  const std::vector<float> x = noise(kSamples);
  std::vector<float> y(x.size(), -7);
  const Status status = prox_tv1d({.x = view(x.data(), {1, kSamples}), .lam = 1.0},
                                  view(y.data(), {1, kSamples}), {}, {.executor = &executor});
  EXPECT_EQ(status.code, StatusCode::out_of_memory);
  EXPECT_EQ(y, std::vector<float>(x.size(), -7));
}

/// Without the memory that only some rows would need, whatever this row needs.
TEST(CallMemory, ThatIsRefusedInPartLeavesResultsAloneRunsInAForkedChild) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more address space than a limit allows";
#endif
  constexpr std::int64_t kSamples = 4'000'000;
  const std::vector<float> x = noise(kSamples);
  std::vector<float> y(x.size(), -7);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const std::size_t limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::size_t kRoom = std::size_t{64} << 20;  // for the memory that any row needs
    const rlimit memory = {limit + kRoom, limit + kRoom};
    if (setrlimit(RLIMIT_AS, &memory) != 0) _exit(2);
    const Status status =
        prox_tv1d({.x = view(x.data(), {1, kSamples}), .lam = 1.0}, view(y.data(), {1, kSamples}));
    const bool is_as_before = std::all_of(y.begin(), y.end(), [](float v) { return v == -7; });
    _exit(status.code == StatusCode::out_of_memory && is_as_before ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace tautstring::testing
