// The search of short lines against the exact solver.
#include "step/line_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

template <class T, int kSamples>
struct LineSource {
  const std::vector<T>& samples;

  using Place = std::int32_t;
  static constexpr Place kStep = 1;

  [[nodiscard]] static Place place(std::int32_t i) { return i; }
  [[nodiscard]] static T zero() { return 0; }
  [[nodiscard]] T sample(Place i) const {
    const auto at = static_cast<std::size_t>(i);
    return at < samples.size() ? samples[at] : std::numeric_limits<T>::quiet_NaN();
  }
  void load(Place i, T (&group)[kSamples]) const {
    for (int j = 0; j < kSamples; ++j) group[j] = sample(i + 1 + j);
  }
};

template <class T>
struct LineSink {
  std::vector<T> values;
  std::vector<Code> codes;

  void put(std::int32_t /*place*/, std::int32_t first, bool is_real, bool down, T value) {
    const auto at = static_cast<std::size_t>(first);
    if (first == 0 || is_real) {
      codes[at] = first == 0 ? Code::plain : (down ? Code::down : Code::up);
      values[at] = value;
    }
  }
};

template <class T, int kSamples>
void expect_exact_lines(double tolerance) {
  Random random(base_seed());
  std::normal_distribution<double> noise;
  for (std::int32_t trial = 0; trial < 3000; ++trial) {
    const std::int32_t n = 1 + trial % 64;
    const auto lam = static_cast<T>(std::exp(1.5 * noise(random) - 0.5));
    std::vector<T> x(static_cast<std::size_t>(n));
    for (T& value : x) value = static_cast<T>(noise(random));
    LineSink<T> found = {std::vector<T>(x.size()), std::vector<Code>(x.size(), Code::continues)};
    detail::search_line<kSamples, detail::PlainLineArithmetic<T>>(LineSource<T, kSamples>{x}, n,
                                                                  lam, true, found);
    const std::vector<double> wide(x.begin(), x.end());
    std::vector<double> y(wide.size());
    std::vector<std::uint32_t> partition(static_cast<std::size_t>(partition_words(n)));
    ASSERT_TRUE(prox_tv1d({.x = view(wide.data(), {n}), .lam = static_cast<double>(lam)},
                          view(y.data(), {n}), partition)
                    .ok());
    T value = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (found.codes[at] != Code::continues) value = found.values[at];
      ASSERT_EQ(found.codes[at], code_at(partition.data(), i)) << "sample " << i << " of " << n;
      ASSERT_NEAR(value, y[at], tolerance * (1 + static_cast<double>(lam))) << "sample " << i;
    }
  }
}

TEST(LineSearch, FindsTheExactSegments) {
  expect_exact_lines<double, 3>(1e-14);
  expect_exact_lines<double, 6>(1e-14);
}

TEST(LineSearch, IsNearEnoughInFloat32) {
  expect_exact_lines<float, 6>(1e-6);
}

}  // namespace
}  // namespace tautstring::testing
