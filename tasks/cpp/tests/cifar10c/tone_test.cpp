#include <gtest/gtest.h>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

TEST(Brightness, KeepsHueAndSaturation) {
  const int colour[] = {100, 50, 25};
  const Picture image = picture([&](int, int, int c) { return colour[c]; });
  // .1 is 25.5 levels: 125.5, and in proportion 62.75 and 31.4.
  const Picture result = corrupted(image, "brightness", 2);
  EXPECT_EQ(result[0], 125);
  EXPECT_EQ(result[1], 62);
  EXPECT_EQ(result[2], 31);
}

TEST(Brightness, KeepsThePlacesOfAllColours) {
  const int orders[][3] = {{9, 5, 1}, {5, 9, 1}, {1, 9, 5}, {1, 5, 9}, {5, 1, 9}, {9, 1, 5}};
  for (const auto& order : orders) {
    const Picture image = picture([&](int, int, int c) { return 10 * order[c]; });
    const Picture result = corrupted(image, "brightness", 1);
    for (std::size_t c = 0; c < 3; ++c) {
      const double expected = 10 * order[c] * (90 + 0.05 * 255) / 90;
      EXPECT_NEAR(result[c], expected - 0.5, 0.51);
    }
  }
}

TEST(Brightness, ClipsAndLightsBlack) {
  EXPECT_EQ(corrupted(plain(250), "brightness", 5), plain(255));
  EXPECT_EQ(corrupted(plain(0), "brightness", 5), plain(76));  // .3 * 255 = 76.5
}

TEST(Contrast, ScalesAboutTheMeanOfEachColour) {
  // Halves of 60 and 100 around 80 in red, and of 0 and 200 around 100 in the others.
  const Picture image = picture([](int y, int, int c) {
    const bool is_upper = y < 16;
    return c == 0 ? (is_upper ? 60 : 100) : (is_upper ? 0 : 200);
  });
  const Picture result = corrupted(image, "contrast", 5);
  EXPECT_NEAR(result[value_at(0, 0, 0)], 77, 1);  // 80 - .15 * 20
  EXPECT_NEAR(result[value_at(31, 0, 0)], 83, 1);
  EXPECT_NEAR(result[value_at(0, 0, 1)], 85, 1);
  EXPECT_NEAR(result[value_at(31, 0, 2)], 115, 1);
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
