// Impulse responses and paths that are computed by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

int at(const Picture& image, int y, int x) {
  return image[value_at(y, x, 0)];
}

TEST(DefocusBlur, OfTheFourthSeverityIsAPlus) {
  const Picture result = corrupted(dot(), "defocus_blur", 4);
  EXPECT_EQ(at(result, 16, 16), 51);
  for (const int d : {-1, 1}) {
    EXPECT_EQ(at(result, 16 + d, 16), 50);  // 255 / 5 less what the Gaussian takes away
    EXPECT_EQ(at(result, 16, 16 + d), 50);
    EXPECT_EQ(at(result, 16 + d, 16 + d), 0);
    EXPECT_EQ(at(result, 16, 16 + 2 * d), 0);
  }
}

TEST(DefocusBlur, OfTheFifthSeverityIsABox) {
  const Picture result = corrupted(dot(), "defocus_blur", 5);
  for (int y = 14; y <= 18; ++y) {
    for (int x = 14; x <= 18; ++x) {
      const bool is_inside = std::abs(y - 16) <= 1 && std::abs(x - 16) <= 1;
      EXPECT_EQ(at(result, y, x), is_inside ? 28 : 0);  // 255 / 9 = 28.3
    }
  }
}

TEST(DefocusBlur, MirrorsOnTheEdge) {
  const Picture column = picture([](int, int x, int) { return x == 1 ? 90 : 0; });
  EXPECT_EQ(at(corrupted(column, "defocus_blur", 5), 10, 0), 60);  // both neighbours are column 1
}

TEST(GlassBlur, CopiesNeighboursInDescendingOrder) {
  // The filter of the first severity has a radius of 0.
  const Picture ramp = picture([](int y, int x, int) { return 4 * x + y; });
  const std::vector<double> stay = all(2 * 900, 0.9);
  EXPECT_EQ(corrupted(ramp, "glass_blur", 1, stay), ramp);

  const std::vector<double> move = all(2 * 900, 0.1);  // up and left, all of them
  const Picture moved = corrupted(ramp, "glass_blur", 1, move);
  EXPECT_EQ(moved, picture([](int y, int x, int) {
              return y >= 2 && x >= 2 ? 4 * (x - 1) + (y - 1) : 4 * x + y;
            }));

  std::vector<double> first = stay;
  first[0] = 0.1;  // x of pixel (31, 31)
  const Picture once = corrupted(ramp, "glass_blur", 1, first);
  EXPECT_EQ(at(once, 31, 31), at(ramp, 31, 30));
  EXPECT_EQ(at(once, 31, 30), at(ramp, 31, 30));  // a copy, not a swap
}

TEST(MotionBlur, IsOneSided) {
  // Angle 0 averages over pixels to the right, so a dot is smeared to the left.
  const Picture result = corrupted(dot(), "motion_blur", 1, {0.5});
  double sum = 0;
  for (int i = 0; i <= 12; ++i) sum += std::exp(-i * i / 2.0);
  for (int x = 0; x < kSize; ++x) {
    const int steps = 16 - x;
    const bool is_reached = steps >= 0 && steps <= 12;
    const double expected = is_reached ? 255 * std::exp(-steps * steps / 2.0) / sum : 0;
    EXPECT_EQ(at(result, 16, x), std::lround(expected)) << x;
  }
  EXPECT_EQ(at(result, 15, 16), 0);
}

TEST(MotionBlur, RepeatsTheEdge) {
  const Picture edge = picture([](int, int x, int) { return x == 31 ? 200 : 0; });
  EXPECT_EQ(at(corrupted(edge, "motion_blur", 5, {0.5}), 3, 31), 200);
}

TEST(ZoomBlur, CountsTheImageTwice) {
  // The factors up to 1.06 leave the corner alone but for the crop; a dot in the corner of a crop
  // of 31 pixels is outside of it.
  const Picture corner = picture([](int y, int x, int) { return y + x == 62 ? 255 : 0; });
  const Picture result = corrupted(corner, "zoom_blur", 1);
  EXPECT_EQ(at(result, 0, 0), 0);
  EXPECT_GE(at(result, 31, 31), 2 * 255 / 8);
}

TEST(ZoomBlur, KeepsPlainImages) {
  for (int severity = 1; severity <= 5; ++severity) {
    for (const int value : {0, 100, 255}) {
      const Picture result = corrupted(plain(value), "zoom_blur", severity);
      for (const int found : result) EXPECT_NEAR(found, value, 1);
    }
  }
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
