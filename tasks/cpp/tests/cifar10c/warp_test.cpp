// Elastic transform and pixelate.
#include <gtest/gtest.h>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

constexpr std::size_t kPointNumbers = 6;

TEST(ElasticTransform, WithoutJitterIsTheIdentity) {
  const Picture image = noise(1);
  EXPECT_EQ(corrupted(image, "elastic_transform", 1, all(kPointNumbers, 0.5)), image);
  // And without shifts, in the other severities.
  EXPECT_EQ(corrupted(image, "elastic_transform", 4, all(kPointNumbers + 2 * kPixels, 0.5)), image);
}

TEST(ElasticTransform, MovesTheImageWithItsPoints) {
  // All x coordinates by u = .75 of U(-2.56, 2.56): 1.28 pixels to the right.
  const Picture ramp = picture([](int, int x, int) { return 7 * x; });
  const Picture result = corrupted(ramp, "elastic_transform", 1, {0.75, 0.5, 0.75, 0.5, 0.75, 0.5});
  for (int x = 4; x < kSize; ++x) {
    EXPECT_NEAR(result[value_at(9, x, 1)], 7 * (x - 1.28) - 0.5, 0.51) << x;
  }
}

TEST(ElasticTransform, MirrorsOnTheEdge) {
  // Moved to the right, column 0 shows what is at -1.28: a mirror image of 1.28.
  const Picture ramp = picture([](int, int x, int) { return 7 * x; });
  const Picture result = corrupted(ramp, "elastic_transform", 1, {0.75, 0.5, 0.75, 0.5, 0.75, 0.5});
  EXPECT_NEAR(result[value_at(9, 0, 1)], 7 * 1.28 - 0.5, 0.51);
}

TEST(ElasticTransform, ShiftsByTheSmoothedField) {
  // A field of one value is not changed by smoothing: 3.2 * .5 = 1.6 pixels.
  std::vector<double> random = all(kPointNumbers + 2 * kPixels, 0.5);
  for (std::size_t i = 0; i < kPixels; ++i) random[kPointNumbers + i] = 0.75;  // x comes first
  const Picture ramp = picture([](int, int x, int) { return 7 * x; });
  const Picture result = corrupted(ramp, "elastic_transform", 5, random);
  for (int x = 0; x < 30; ++x) {
    EXPECT_NEAR(result[value_at(20, x, 2)], 7 * (x + 1.6) - 0.5, 0.51) << x;
  }
  EXPECT_EQ(result[value_at(20, 31, 0)], 7 * 31 - 5);  // at 32.6: between 31 and 30, mirrored
}

TEST(Pixelate, KeepsPlainImages) {
  for (int severity = 1; severity <= 5; ++severity) {
    EXPECT_EQ(corrupted(plain(123), "pixelate", severity), plain(123));
  }
}

TEST(Pixelate, OfThreeQuartersAveragesPairs) {
  // 24 of 32: boxes are 4/3 wide and take the pixels whose centres are in them: 0; 1 and 2; 3; ...
  // Enlarged, each of the 32 pixels takes the one of 24 in which its centre is.
  const Picture image = picture([](int, int x, int) { return 8 * x; });
  const Picture result = corrupted(image, "pixelate", 4);
  const int small[] = {0, 12, 24};    // values of the first three boxes
  const int source[] = {0, 1, 1, 2};  // floor((x + .5) * .75)
  for (int x = 0; x < 4; ++x) EXPECT_EQ(result[value_at(5, x, 0)], small[source[x]]) << x;
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
