// Calls that are allowed but rare: unusual strides, pointers, lams and sizes, against the CPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "device_array.h"
#include "support/rows.h"
#include "support/solve.h"
#include "workspace.h"

namespace tautstring::testing {
namespace {

using OddCalls = OnGpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
std::vector<T> noise(std::int64_t size, double scale = 1) {
  Random random(base_seed());
  std::vector<T> values(static_cast<std::size_t>(size));
  for (T& value : values) {
    value = static_cast<T>(scale * std::normal_distribution<double>()(random));
  }
  return values;
}

/// One row on the device, within the CPU's tolerance.
template <class T>
void expect_the_cpus(const std::vector<T>& x, double lam, std::int64_t stride = 1) {
  const auto n = static_cast<std::int64_t>(x.size()) / stride;
  std::vector<double> row;
  for (std::int64_t k = 0; k < n; ++k) {
    row.push_back(static_cast<double>(x[static_cast<std::size_t>(k * stride)]));
  }
  constexpr DType kType = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;
  const Row expected{"", row, {lam}, {}};
  const Solution solution(expected, kType);
  DeviceArray<T> on_device(x), y(x);
  Workspace workspace(1, n, false);
  check(prox_tv1d({.x = view(static_cast<const T*>(on_device.data()), {n}, {stride}), .lam = lam},
                  view(y.data(), {n}, {stride}), {}, workspace.context()));
  const std::vector<T> found = y.download();
  const double tolerance = value_tolerance(kType, expected);
  for (std::int64_t k = 0; k < n; ++k) {
    const auto value = static_cast<double>(found[static_cast<std::size_t>(k * stride)]);
    ASSERT_NEAR(value, solution.y[static_cast<std::size_t>(k)], tolerance)
        << "n " << n << ", lam " << lam << ", stride " << stride << ", element " << k;
  }
}

/// Such rows are smooth over too many samples to be searched.
TEST_F(OddCalls, MayHaveHugeSamplesBesideSmallOnes) {
  std::vector<double> x(8192);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::sin(static_cast<double>(k) / 2000);
  // The first sample is subtracted from all samples: 1e-8 is the last bit of a difference.
  std::fill(x.begin(), x.begin() + 1436, 1e8);
  const Solution solution(Row{"", x, {50}, {}}, DType::float64);
  DeviceArray<double> on_device(x), y(x.size());
  Workspace workspace(1, 8192, false);
  check(prox_tv1d({.x = view(static_cast<const double*>(on_device.data()), {8192}), .lam = 50.0},
                  view(y.data(), {8192}), {}, workspace.context()));
  const std::vector<double> found = y.download();
  for (std::size_t k = 0; k < x.size(); ++k) {
    ASSERT_NEAR(found[k], solution.y[k], 1e-7) << "element " << k;
  }
  std::fill(x.end() - 3, x.end(), 0.9e308);
  expect_the_cpus(x, 50);
}

TEST_F(OddCalls, MayWriteBatchesBackwards) {
  for (const std::int64_t n : {48, 300}) {
    constexpr std::int64_t kRows = 70;
    const std::vector<float> values = noise<float>(kRows * n);
    DeviceArray<float> x(values), forwards(values.size()), backwards(values.size());
    Workspace workspace(kRows, n, false);
    const Problem1d problem = {.x = view(static_cast<const float*>(x.data()), {kRows, n}),
                               .lam = 0.7};
    check(prox_tv1d(problem, view(forwards.data(), {kRows, n}), {}, workspace.context()));
    check(prox_tv1d(problem, view(backwards.data() + (kRows - 1) * n, {kRows, n}, {-n, 1}), {},
                    workspace.context()));
    const std::vector<float> expected = forwards.download();
    const std::vector<float> found = backwards.download();
    for (std::int64_t r = 0; r < kRows; ++r) {
      ASSERT_TRUE(std::equal(expected.begin() + r * n, expected.begin() + (r + 1) * n,
                             found.begin() + (kRows - 1 - r) * n))
          << "n " << n << ", row " << r;
    }
  }
}

TEST_F(OddCalls, MayPutPartitionsAnywhere) {
  constexpr std::int64_t kRows = 70;
  constexpr std::int64_t kLength = 64;
  const std::vector<float> values = noise<float>(kRows * kLength);
  const auto words = static_cast<std::size_t>(kRows * partition_words(kLength));
  DeviceArray<float> x(values), y(values.size()), grad(values.size());
  DeviceArray<std::uint32_t> partition(std::vector<std::uint32_t>(words + 3));
  Workspace workspace(kRows, kLength, false);
  const View rows = view(x.data(), {kRows, kLength});
  std::vector<std::uint32_t> expected;
  std::vector<float> expected_grad;
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::span<std::uint32_t> place(partition.data() + shift, words);
    check(prox_tv1d({.x = rows, .lam = 0.7}, view(y.data(), {kRows, kLength}), place,
                    workspace.context()));
    check(prox_tv1d_backward({.partition = place}, rows, {.x = view(grad.data(), {kRows, kLength})},
                             workspace.context()));
    std::vector<std::uint32_t> found = partition.download();
    found = {found.begin() + static_cast<std::ptrdiff_t>(shift),
             found.begin() + static_cast<std::ptrdiff_t>(shift + words)};
    if (shift == 0) expected = found;
    if (shift == 0) expected_grad = grad.download();
    EXPECT_EQ(found, expected) << shift;
    EXPECT_EQ(grad.download(), expected_grad) << shift;
  }
}

TEST_F(OddCalls, TakeColumnsThatFillABlocksMemory) {
  for (const std::int64_t n : {2000, 4000, 5000, 8192, 9000}) {
    expect_the_cpus(noise<float>(3 * n), 0.7, 3);
    expect_the_cpus(noise<double>(3 * n), 0.7, 3);
  }
}

TEST_F(OddCalls, TakeLargeSamplesAndLams) {
  for (const std::int64_t n : {100, 1000, 10'000}) {
    expect_the_cpus(noise<double>(n, 1e300), 1e300);
    expect_the_cpus(noise<float>(n, 1e36), 1e36);
    for (const double lam : {1e30, 1e300, kInfinity}) {
      expect_the_cpus(noise<double>(n), lam);
      expect_the_cpus(noise<float>(n), lam);
    }
    expect_the_cpus(noise<float>(n, 1e-38), 1e-38);
  }
}

TEST_F(OddCalls, CopyASingleNanWhereLamIsZero) {
  const std::vector<float> nan = {std::numeric_limits<float>::quiet_NaN()};
  DeviceArray<float> x(nan), y(1);
  Workspace workspace(1, 1, false);
  check(prox_tv1d({.x = view(static_cast<const float*>(x.data()), {1}), .lam = 0.0},
                  view(y.data(), {1}), {}, workspace.context()));
  EXPECT_TRUE(std::isnan(y.download()[0]));
}

/// On a GPU an invalid lam is not an error, but must not be treated as 0 either.
TEST_F(OddCalls, GiveNanForANegativeLamThatIsZeroInTheArithmetic) {
  for (const std::int64_t n : {20, 1000, 10'000}) {
    const std::vector<float> values = noise<float>(n);
    DeviceArray<float> x(values), y(values.size());
    DeviceArray<double> lam(std::vector<double>{-1e-50});
    Workspace workspace(1, n, false);
    check(prox_tv1d({.x = view(static_cast<const float*>(x.data()), {1, n}),
                     .lam = view(static_cast<const double*>(lam.data()), {1, 1})},
                    view(y.data(), {1, n}), {}, workspace.context()));
    for (const float value : y.download()) ASSERT_TRUE(std::isnan(value)) << n;
  }
}

}  // namespace
}  // namespace tautstring::testing
