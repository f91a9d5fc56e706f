// How a row is handled: the quick decision for most rows is the same as the full one.
#include "cpu/row_path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/rows.h"

namespace tautstring::testing {
namespace {

template <class T>
class RowPathOf : public ::testing::Test {};
using Arithmetics = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowPathOf, Arithmetics);

/// A number of any size, of either sign, or 0.
template <class T>
T any_number(Random& random) {
  const int exponent = std::is_same_v<T, float> ? 120 : 1000;
  const int size = static_cast<int>(random() % static_cast<unsigned>(2 * exponent)) - exponent;
  const T magnitude =
      std::ldexp(T(1) + static_cast<T>(random() % 8) / 8, random() % 2 == 0 ? size : 0);
  const auto kind = random() % 8;
  return kind == 0 ? T(0) : kind < 4 ? -magnitude : magnitude;
}

TYPED_TEST(RowPathOf, IsTheQuickAnswerWhereThatIsYes) {
  using T = TypeParam;
  Random random(base_seed());
  int plain = 0;
  for (int trial = 0; trial < 200000; ++trial) {
    const T a = any_number<T>(random);
    const T b = any_number<T>(random);
    const detail::Extent<T> extent = {std::min(a, b), std::max(a, b), random() % 16 != 0};
    const T lam = std::abs(any_number<T>(random));
    const int n = 1 + static_cast<int>(random() % 2000);
    if (!detail::is_plain(extent, lam, n)) continue;
    ++plain;
    const detail::LamExtent lams = {static_cast<double>(lam), static_cast<double>(lam)};
    ASSERT_FALSE(detail::is_unusual(extent)) << extent.low << " to " << extent.high;
    ASSERT_EQ(detail::choose_path(extent, lams, n), detail::RowPath::lanes)
        << extent.low << " to " << extent.high << ", lam " << lam << ", n " << n;
    ASSERT_EQ(detail::choose_offset(extent), 0) << extent.low << " to " << extent.high;
  }
  EXPECT_GT(plain, 1000);
}

}  // namespace
}  // namespace tautstring::testing
