// The search of short lines against the exact solver.
#include "step/line_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/rows.h"
#include "support/solve.h"
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

/// Reciprocals that are often off by a unit in the last place, as a device's may be.
struct RoughLineArithmetic : detail::PlainLineArithmetic<float> {
  static float reciprocal(float length) {
    const float exact = 1 / length;
    const int kind = static_cast<int>(length) % 3;
    return kind == 0   ? std::nextafter(exact, 0.0F)
           : kind == 1 ? std::nextafter(exact, 2.0F)
                       : exact;
  }
  template <bool kMayHaveCrossed>
  void tighten(detail::LineBounds<float>& bounds, float sample, float total, float length,
               float room) const {
    detail::tighten_line_bounds<kMayHaveCrossed, RoughLineArithmetic>(bounds, sample, total, length,
                                                                      room);
  }
};

class PlateauLineSearch : public ::testing::TestWithParam<Family> {};

/// Of an image's size, as lines are counted from where its samples are.
template <int kSamples, class Arithmetic>
void expect_plateau_line(const std::vector<double>& line, double lam) {
  const auto n = static_cast<std::int32_t>(line.size());
  std::vector<float> x(line.begin(), line.end());
  LineSink<float> found = {std::vector<float>(x.size()),
                           std::vector<Code>(x.size(), Code::continues)};
  detail::search_line<kSamples, Arithmetic>(LineSource<float, kSamples>{x}, n,
                                            static_cast<float>(lam), true, found);
  const Row row = {"a plateau", line, {lam}, {}};
  const std::vector<double> y = Solution(row).y;
  double size = range_of(line);
  for (const double value : line) size = std::max(size, std::abs(value));
  double value = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = value;
    const bool starts = found.codes[i] != Code::continues;
    if (starts) value = static_cast<double>(found.values[i]);
    const double unit = unit_in_last_place(DType::float32, y[i]);
    ASSERT_LE(std::abs(value - y[i]), 1e-6 * size + unit) << "sample " << i << " of " << n;
    if (i == 0 || !starts) continue;
    ASSERT_NE(x[i], x[i - 1]) << "a run is cut, sample " << i << " of " << n << ", lam " << lam;
    if (std::abs(y[i] - y[i - 1]) < 1e-13 * size) {
      ASSERT_LE(std::abs(value - before), 0x1p-22 * size) << "a false cut, sample " << i;
    }
  }
}

TEST_P(PlateauLineSearch, KeepsFloat32sPromise) {
  Random random(base_seed());
  for (const int n : {5, 8, 16, 24, 32, 33, 48, 56, 64}) {
    for (int trial = 0; trial < 20; ++trial) {
      for (const double lam_size : {1e-4, 1e-3, 0.01, 0.05, 0.3, 1.0, 4.0, 16.0}) {
        std::vector<double> line = GetParam().make(random, n);
        for (double& value : line) value = static_cast<double>(static_cast<float>(value));
        const double range = range_of(line);
        const double lam = lam_size * range * std::uniform_real_distribution<double>(0.6)(random);
        if (range == 0 || lam > n * range / 4) continue;
        const auto as_float = static_cast<double>(static_cast<float>(lam));
        expect_plateau_line<3, detail::PlainLineArithmetic<float>>(line, as_float);
        expect_plateau_line<6, detail::PlainLineArithmetic<float>>(line, as_float);
        expect_plateau_line<3, RoughLineArithmetic>(line, as_float);
        expect_plateau_line<6, RoughLineArithmetic>(line, as_float);
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, PlateauLineSearch, ::testing::ValuesIn(plateau_families()),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace tautstring::testing
