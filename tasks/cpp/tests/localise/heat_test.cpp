// Heat maps as they are scored, by hand.
#include "localise/heat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <stdexcept>

namespace tautstring_tasks::localise {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHuge = std::numeric_limits<float>::max();

TEST(Heat, AMapOfTheSameSizeStays) {
  std::mt19937 random(1);
  NewFloats map(35);
  for (float& each : map) each = static_cast<float>(random() % 1000) / 7;
  EXPECT_EQ(resized(map, {5, 7}, {5, 7}), map);
}

TEST(Heat, AStepHasTheOvershootOfTheCubic) {
  const NewFloats found = resized(NewFloats{0, 0, 1, 1}, {1, 4}, {1, 8});
  // Weights a quarter of a pixel after a centre: -.10546875, .87890625, .26171875, -.03515625.
  const NewFloats expected{0,          -0.03515625F, -0.10546875F, 0.2265625F,
                           0.7734375F, 1.10546875F,  1.03515625F,  1};
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6) << i;
}

TEST(Heat, SmallerMapsTakePixelsBetweenTheirCentres) {
  const NewFloats found = resized(NewFloats{0, 1, 2, 3, 4, 5, 6, 7}, {1, 8}, {1, 4});
  for (std::size_t i = 1; i + 1 < found.size(); ++i) {
    EXPECT_NEAR(found[i], 2.0F * static_cast<float>(i) + 0.5F, 1e-6);
  }
}

TEST(Heat, AMapIsStretchedFromZeroToOne) {
  EXPECT_EQ(stretched({-2, 0, 6}), (NewFloats{0, 0.25F, 1}));
}

TEST(Heat, WhatHasNoRangeIsZero) {
  const NewFloats zeros(3);
  EXPECT_EQ(stretched({5, 5, 5}), zeros);
  EXPECT_EQ(stretched({1, kNan, 2}), zeros);
  EXPECT_EQ(stretched({-kHuge, 0, kHuge}), zeros);
}

TEST(Heat, BytesAreRoundedDown) {
  EXPECT_EQ(to_bytes(NewFloats{0, 0.00392F, 0.00393F, 0.999F, 1}), (NewBytes{0, 0, 1, 254, 255}));
}

TEST(Heat, AMapMustHaveItsSize) {
  EXPECT_THROW(static_cast<void>(resized(NewFloats(3), {2, 2}, {4, 4})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(resized({}, {0, 0}, {4, 4})), std::invalid_argument);
}

}  // namespace
}  // namespace tautstring_tasks::localise
