// The string in float32, as devices run it. On small integers with lam a multiple of 1/4 all its
// arithmetic is exact, so float32 and float64 must find the same borders.
#include "step/taut_string.h"

#include <gtest/gtest.h>

#include "step/prefix_sums.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

template <class T>
std::vector<Code> find_borders(const std::vector<double>& x, double lam) {
  const auto n = static_cast<std::int32_t>(x.size());
  std::vector<T> totals(x.size() + 1);
  detail::PlainSums<T> sums{totals.data()};
  sums.start();
  for (std::int32_t i = 0; i < n; ++i) {
    sums.append(i, static_cast<T>(x[static_cast<std::size_t>(i)] - x[0]));
  }
  std::vector<Code> codes(x.size(), Code::continues);
  std::vector<std::int32_t> lower(x.size()), upper(x.size());
  const detail::Tube<T, detail::PlainSums<T>, detail::UnitSums<T>, detail::UniformLam<T>> tube{
      sums, {}, {static_cast<T>(lam)}, n};
  detail::pull_taut_string<T>(tube, lower.data(), upper.data(), [&](std::int32_t k, Code code) {
    codes[static_cast<std::size_t>(k)] = code;
  });
  return codes;
}

TEST(TautString, Float32FindsTheBordersOfFloat64OnSmallIntegers) {
  for (int trial = 0; trial < 3000; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    std::vector<double> x(1 + random() % 250);
    for (double& value : x) value = static_cast<double>(random() % 9);
    const double lam = static_cast<double>(1 + random() % 40) / 4;
    ASSERT_EQ(find_borders<float>(x, lam), find_borders<double>(x, lam)) << trial;
  }
}

TEST(TautString, BordersComeInOrder) {
  for (int trial = 0; trial < 500; ++trial) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(trial), 200,
                               LamKind::uniform, WeightKind::none);
    const auto n = static_cast<std::int32_t>(row.x.size());
    std::vector<double> totals(row.x.size() + 1);
    detail::PlainSums<double> sums{totals.data()};
    sums.start();
    for (std::int32_t i = 0; i < n; ++i) sums.append(i, row.x[static_cast<std::size_t>(i)]);
    std::vector<std::int32_t> lower(row.x.size()), upper(row.x.size());
    const detail::Tube<double, detail::PlainSums<double>, detail::UnitSums<double>,
                       detail::UniformLam<double>>
        tube{sums, {}, {row.lam[0]}, n};
    std::int32_t previous = 0;
    detail::pull_taut_string<double>(tube, lower.data(), upper.data(),
                                     [&](std::int32_t k, Code code) {
                                       EXPECT_GT(k, previous);
                                       EXPECT_LT(k, n);
                                       EXPECT_TRUE(code == Code::up || code == Code::down);
                                       previous = k;
                                     });
  }
}

}  // namespace
}  // namespace tautstring::testing
