// How much scratch memory calls on the CPU touch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <random>
#include <utility>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

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
  Random random(base_seed());
  std::normal_distribution<float> noise;
  std::vector<float> x(kSamples), y(kSamples);
  for (float& sample : x) sample = noise(random);
  const ConstView row = view(std::as_const(x).data(), {1, kSamples});
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

}  // namespace
}  // namespace tautstring::testing
