// The functions agree with the standard library's to a few units in the last place.
#include "support/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tautstring_tasks {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();

TEST(Elementary, ExponentialIsAccurate) {
  for (double x = -700; x <= 700; x += 0.37) {
    EXPECT_NEAR(exponential(x) / std::exp(x), 1, 4 * kUlp) << x;
  }
  EXPECT_EQ(exponential(0), 1);
}

TEST(Elementary, LogarithmIsAccurate) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    EXPECT_NEAR(logarithm(x), std::log(x), 4 * kUlp * std::abs(std::log(x))) << x;
  }
  for (double x = 0.5; x < 2; x += 1e-3) {
    EXPECT_NEAR(logarithm(x), std::log(x), 2 * kUlp * std::abs(std::log(x)) + 1e-18) << x;
  }
  EXPECT_EQ(logarithm(1), 0);
}

TEST(Elementary, SineAndCosineAreAccurate) {
  for (double x = -4; x <= 4; x += 1e-3) {
    EXPECT_NEAR(sine(x), std::sin(x), 32 * kUlp) << x;
    EXPECT_NEAR(cosine(x), std::cos(x), 32 * kUlp) << x;
  }
  EXPECT_EQ(cosine(0), 1);
}

}  // namespace
}  // namespace tautstring_tasks
