// may_overlap against a list of all addresses.
#include <gtest/gtest.h>

#include <set>

#include "api/arguments.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

std::set<std::int64_t> bytes_of(const ConstView& view, const void* base) {
  std::set<std::int64_t> bytes;
  const std::int64_t item = size_of(view.dtype);
  const std::int64_t start =
      static_cast<const std::byte*>(view.data) - static_cast<const std::byte*>(base);
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    for (std::int64_t j = 0; j < view.shape[1]; ++j) {
      for (std::int64_t b = 0; b < item; ++b) {
        bytes.insert(start + (i * view.strides[0] + j * view.strides[1]) * item + b);
      }
    }
  }
  return bytes;
}

TEST(Overlap, IsNeverMissed) {
  static double memory[400];
  Random random(base_seed());
  int separate = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    const auto make = [&] {
      ConstView view;
      view.dtype = random() % 2 == 0 ? DType::float32 : DType::float64;
      view.ndim = 2;
      view.data = reinterpret_cast<const std::byte*>(memory + 150) + 4 * (random() % 24);
      for (int d = 0; d < 2; ++d) {
        view.shape[d] = static_cast<std::int64_t>(random() % 4);
        view.strides[d] = static_cast<std::int64_t>(random() % 13) - 6;
      }
      return view;
    };
    const ConstView a = make();
    const ConstView b = make();
    const std::set<std::int64_t> bytes = bytes_of(a, memory);
    bool shared = false;
    for (const std::int64_t byte : bytes_of(b, memory)) shared = shared || bytes.contains(byte);
    const bool said = detail::may_overlap(a, b);
    ASSERT_EQ(said, detail::may_overlap(b, a));
    if (shared) {
      ASSERT_TRUE(said) << trial;
    }
    separate += !said && !bytes.empty() ? 1 : 0;
  }
  EXPECT_GT(separate, 1000);  // and there are few false alarms
}

}  // namespace
}  // namespace tautstring::testing
