#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

std::vector<double> no_flakes() {
  std::vector<double> random = all(kPixels + 1, -10);
  random[kPixels] = 0.5;
  return random;
}

TEST(Snow, WithoutFlakesMakesWhiter) {
  // .8 * .4 + .2 * (1.5 * .4 + .5) = .54
  EXPECT_EQ(corrupted(plain(102), "snow", 5, no_flakes())[0], 137);
}

TEST(Snow, AddsFlakesAndTheirHalfTurn) {
  std::vector<double> random = no_flakes();
  random[pixel_at(10, 12)] = 100;  // clipped to one white pixel
  random[kPixels] = 0.5;           // -90 degrees: averages over pixels above, so it is smeared down
  const Picture none = corrupted(plain(0), "snow", 1, no_flakes());
  const Picture snow = corrupted(plain(0), "snow", 1, random);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const int added = snow[value_at(y, x, 0)] - none[value_at(y, x, 0)];
      const int turned = snow[value_at(31 - y, 31 - x, 0)] - none[value_at(31 - y, 31 - x, 0)];
      EXPECT_EQ(added, turned);
      const bool is_tail = x == 12 && y >= 10 && y <= 10 + 8;
      const bool is_tail_of_turn = x == 19 && y <= 21 && y >= 21 - 8;
      if (is_tail || is_tail_of_turn) {
        EXPECT_GT(added, 0) << y << ' ' << x;
      }
      if (x != 12 && x != 19) {
        EXPECT_EQ(added, 0) << y << ' ' << x;
      }
    }
  }
}

TEST(Snow, DropsWhatIsBelowTheThreshold) {
  std::vector<double> random = all(kPixels + 1, 2.49);  // .1 + .2 * 2.49 < .6
  random[kPixels] = 0.5;
  EXPECT_EQ(corrupted(plain(50), "snow", 1, random), corrupted(plain(50), "snow", 1, no_flakes()));
}

TEST(Frost, AddsTheSelectedPicture) {
  // .75 * 100 + .45 * 10 * k, truncated
  const int expected[] = {79, 84, 88, 93, 97};
  for (int k = 0; k < 5; ++k) {
    const std::vector<double> random = {k / 5.0 + 0.1, 0.3, 0.7};
    const Picture result = corrupted(plain(100), "frost", 5, random, plain_overlays());
    EXPECT_EQ(result, plain(expected[k]));
  }
}

TEST(Frost, NeverSelectsTheSixthPicture) {
  const std::vector<double> random = {0.999999, 0, 0};
  EXPECT_EQ(corrupted(plain(0), "frost", 1, random, plain_overlays()), plain(10));  // .2 * 50
}

TEST(Frost, ReducesPicturesToEveryFifthPixel) {
  auto overlays = plain_overlays();
  for (int y = 0; y < 165; ++y) {
    for (int x = 0; x < 200; ++x) {
      const bool is_used = y % 5 == 2 && x % 5 == 2;
      for (int c = 0; c < 3; ++c) {
        overlays[0].values[static_cast<std::size_t>((y * 200 + x) * 3 + c)] =
            static_cast<std::uint8_t>(is_used ? 5 * (x / 5) + 10 * c : 255);
      }
    }
  }
  // 40 - 32 = 8 columns to start at; the fifth one is column 4 of the reduced picture.
  const Picture result = corrupted(plain(0), "frost", 1, {0, 0.99, 0.5}, overlays);
  EXPECT_EQ(result, picture([](int, int x, int c) { return (5 * (x + 4) + 10 * c) / 5; }));
}

TEST(Fog, KeepsTheBrightestValue) {
  for (int severity = 1; severity <= 5; ++severity) {
    const std::vector<double> random = Corruptor("fog", severity, 1).draw(0);
    const Picture result = corrupted(plain(200), "fog", severity, random);
    // The plasma's range is [0, 1]: the thickest fog on the brightest pixel has its brightness.
    EXPECT_NEAR(*std::max_element(result.begin(), result.end()), 200, 1);
    const double amounts[] = {.2, .5, .75, 1, 1.5};
    const double brightest = 200 / 255.0;
    const double thin = 200 * brightest / (brightest + amounts[severity - 1]);
    EXPECT_NEAR(*std::min_element(result.begin(), result.end()), thin, 1);
  }
}

TEST(Fog, LeavesBlackImagesBlack) {
  const std::vector<double> random = Corruptor("fog", 5, 1).draw(0);
  EXPECT_EQ(corrupted(plain(0), "fog", 5, random), plain(0));
}

TEST(Fog, OfEqualNumbersIsSymmetric) {
  // All midpoints move up by the same amount, so the plasma is symmetric about the diagonal.
  const Picture result = corrupted(plain(128), "fog", 3, all(kPixels - 1, 0.75));
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      EXPECT_NEAR(result[value_at(y, x, 0)], result[value_at(x, y, 0)], 1);
    }
  }
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
