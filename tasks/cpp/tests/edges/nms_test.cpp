// Suppression by hand. Python's tests compare it with a plain transcription.
#include "edges/nms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "tests/edges/pictures.h"

namespace tautstring_tasks::edges {
namespace {

/// A ridge along a line that is given by the signed distance of each pixel from it.
template <class Distance>
std::vector<float> ridge(Size size, const Distance& distance) {
  std::vector<float> map;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      map.push_back(std::max(0.F, 0.8F - 0.2F * std::abs(static_cast<float>(distance(y, x)))));
    }
  }
  return map;
}

TEST(Nms, OfARidgeTheTopStays) {
  const Size size{31, 31};
  // Slightly inclined: across an edge along an axis the derivatives have no sign to go by.
  const auto map = ridge(size, [](int y, int x) { return (x - 15) + 0.01 * (y - 15); });
  const NewBytes result = suppress(map, size, {});
  for (int y = 6; y < 25; ++y) {
    for (int x = 6; x < 25; ++x) {
      const auto i = to_index(y * size.width + x);
      EXPECT_EQ(result[i] != 0, x == 15) << y << ", " << x;
      if (x == 15) {
        EXPECT_EQ(result[i], std::lround(map[i] * 255.F));
      }
    }
  }
}

TEST(Nms, OfADiagonalRidgeTheTopStays) {
  const Size size{31, 31};
  const auto map = ridge(size, [](int y, int x) { return (x - y) / std::sqrt(2.0); });
  const NewBytes result = suppress(map, size, {});
  for (int y = 8; y < 23; ++y) {
    for (int x = 8; x < 23; ++x) {
      EXPECT_EQ(result[to_index(y * size.width + x)] != 0, x == y) << y << ", " << x;
    }
  }
}

TEST(Nms, AFlatMapStaysAndIsDampedAtTheBorder) {
  const Size size{12, 14};
  const NewBytes result = suppress(std::vector<float>(size.pixels(), 1.F), size, {.border = 5});
  const auto at = [&](int y, int x) { return result[to_index(y * size.width + x)]; };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(at(6, i), 51 * i);
    EXPECT_EQ(at(6, 13 - i), 51 * i);
    EXPECT_EQ(at(i, 7), 51 * i);
    EXPECT_EQ(at(11 - i, 7), 51 * i);
  }
  EXPECT_EQ(at(2, 3), std::lround(255 * 0.4 * 0.6));
  EXPECT_EQ(at(6, 6), 255);
}

TEST(Nms, TheFactorDecidesHowFlatAnEdgeMayBe) {
  // Values grow by 2 % from pixel to pixel.
  const Size size{24, 24};
  std::vector<float> map;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      map.push_back(0.1F * std::pow(1.02F, static_cast<float>(x) + 0.001F * static_cast<float>(y)));
    }
  }
  const auto middle = to_index(12 * size.width + 12);
  EXPECT_NE(suppress(map, size, {.factor = 1.03})[middle], 0);
  EXPECT_EQ(suppress(map, size, {.factor = 1.01})[middle], 0);
  EXPECT_EQ(suppress(map, size, {.radius = 2, .factor = 1.03})[middle], 0);
}

TEST(Nms, SmallMapsAreNoSpecialCase) {
  for (const Size size : {Size{1, 1}, Size{1, 9}, Size{9, 1}, Size{2, 3}, Size{0, 0}}) {
    const std::vector<float> map(size.pixels(), 0.5F);
    EXPECT_EQ(suppress(map, size, {.border = 0}), NewBytes(size.pixels(), 128));
  }
}

std::string message_of(const std::vector<float>& map, const NmsOptions& options) {
  try {
    static_cast<void>(suppress(map, {1, 2}, options));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no exception";
}

TEST(Nms, BadArgumentsAreNamed) {
  const std::vector<float> map{0.F, 1.F};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(message_of(map, {.radius = 0}).starts_with("radius: must be at least 1, got 0"));
  EXPECT_TRUE(message_of(map, {.border = -1}).starts_with("border: must be at least 0, got -1"));
  EXPECT_TRUE(message_of(map, {.factor = 0}).starts_with("factor: must be above 0 and finite"));
  EXPECT_TRUE(message_of({0.F}, {}).starts_with("map: must have height x width values, got 1"));
  EXPECT_TRUE(message_of({0.F, 1.5F}, {}).starts_with("map: values must be in [0, 1], got 1.5"));
  EXPECT_TRUE(message_of({nan, 1.F}, {}).starts_with("map: values must be in [0, 1], got "));
}

}  // namespace
}  // namespace tautstring_tasks::edges
