// Additions and multiplications that say whether their result fits.
#include "portability.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace tautstring::detail {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

/// 0 and 1, all powers of 2, roots of the limits, the limits, and what is near them.
std::vector<std::int64_t> numbers() {
  std::vector<std::int64_t> values = {0, 3'037'000'499, 3'037'000'500, kMost, kMost / 3, kLeast};
  for (int shift = 0; shift < 63; ++shift) values.push_back(std::int64_t{1} << shift);
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (values[i] != kLeast) values.push_back(-values[i]);
    if (values[i] != kMost) values.push_back(values[i] + 1);
    if (values[i] != kLeast) values.push_back(values[i] - 1);
  }
  return values;
}

TEST(Portability, SumsAndProductsThatFitAreThoseOfTheCompiler) {
  for (const std::int64_t a : numbers()) {
    for (const std::int64_t b : numbers()) {
      std::int64_t expected = 0;
      std::int64_t result = 7;
      const bool sum_fits = !__builtin_add_overflow(a, b, &expected);
      ASSERT_EQ(add(a, b, result), sum_fits) << a << " + " << b;
      ASSERT_EQ(result, sum_fits ? expected : 7) << a << " + " << b;
      result = 7;
      const bool product_fits = !__builtin_mul_overflow(a, b, &expected);
      ASSERT_EQ(multiply(a, b, result), product_fits) << a << " * " << b;
      ASSERT_EQ(result, product_fits ? expected : 7) << a << " * " << b;
    }
  }
}

TEST(Portability, TheResultMayBeAnOperand) {
  std::int64_t value = 6;
  ASSERT_TRUE(multiply(value, 7, value));
  EXPECT_EQ(value, 42);
  ASSERT_TRUE(add(value, value, value));
  EXPECT_EQ(value, 84);
}

}  // namespace
}  // namespace tautstring::detail
