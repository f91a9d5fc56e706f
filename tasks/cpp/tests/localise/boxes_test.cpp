// Boxes of contours by hand. Python's tests compare them with a plain transcription.
#include "localise/boxes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string_view>
#include <tuple>

namespace tautstring_tasks::localise {

bool operator<(const Box& a, const Box& b) {
  return std::tie(a.x0, a.y0, a.x1, a.y1) < std::tie(b.x0, b.y0, b.x1, b.y1);
}

void PrintTo(const Box& box, std::ostream* out) {
  *out << '(' << box.x0 << ", " << box.y0 << ", " << box.x1 << ", " << box.y1 << ')';
}

namespace {

/// One string per row; a digit d is the value 25 d, a point is 0.
Boxes boxes_of_drawing(std::initializer_list<std::string_view> rows) {
  NewBytes map;
  for (const std::string_view row : rows) {
    for (const char c : row) {
      map.push_back(c == '.' ? std::uint8_t{0} : static_cast<std::uint8_t>(25 * (c - '0')));
    }
  }
  return boxes_of(map, {static_cast<int>(rows.size()), static_cast<int>(rows.begin()->size())});
}

std::multiset<Box> boxes_at(const Boxes& boxes, int cut) {
  std::multiset<Box> found;
  for (const Lasting& each : boxes.all) {
    if (each.first <= cut && cut <= each.last) found.insert(each.box);
  }
  return found;
}

using Expected = std::multiset<Box>;

TEST(Boxes, ABoxIsAPixelTooLargeButNotBeyondTheMap) {
  const Boxes boxes = boxes_of_drawing({"......",  //
                                        ".99...",  //
                                        "....99",  //
                                        "....99"});
  EXPECT_EQ(boxes_at(boxes, 0), (Expected{{1, 1, 3, 2}, {4, 2, 5, 3}}));
  EXPECT_EQ(boxes_at(boxes, 224), boxes_at(boxes, 0));
  EXPECT_EQ(boxes.largest[0], (Box{4, 2, 5, 3}));
}

TEST(Boxes, PixelsThatTouchAtACornerAreConnected) {
  const Boxes boxes = boxes_of_drawing({"9....",  //
                                        ".9...",  //
                                        "....."});
  EXPECT_EQ(boxes_at(boxes, 100), (Expected{{0, 0, 2, 2}}));
}

TEST(Boxes, AHoleHasTheContourOfThePixelsAroundIt) {
  const Boxes boxes = boxes_of_drawing({"99999.",  //
                                        "9...9.",  //
                                        "9...9.",  //
                                        "99999.",  //
                                        "......"});
  EXPECT_EQ(boxes_at(boxes, 0), (Expected{{0, 0, 5, 4}, {0, 0, 5, 4}}));
}

TEST(Boxes, HolesThatTouchAtACornerAreTwo) {
  const Boxes boxes = boxes_of_drawing({"999999",  //
                                        "9.9999",  //
                                        "99.999",  //
                                        "999999"});
  EXPECT_EQ(boxes_at(boxes, 0), (Expected{{0, 0, 5, 3}, {0, 0, 3, 3}, {1, 1, 4, 3}}));
}

TEST(Boxes, AGapToTheBorderIsNoHole) {
  const Boxes boxes = boxes_of_drawing({"9999",  //
                                        "9..9",  //
                                        "9.99",  //
                                        "9..9"});
  EXPECT_EQ(boxes_at(boxes, 0), (Expected{{0, 0, 3, 3}}));
}

TEST(Boxes, AnIslandInAHoleHasABox) {
  const Boxes boxes = boxes_of_drawing({"99999",  //
                                        "9...9",  //
                                        "9.9.9",  //
                                        "9...9",  //
                                        "99999"});
  EXPECT_EQ(boxes_at(boxes, 0), (Expected{{0, 0, 4, 4}, {0, 0, 4, 4}, {2, 2, 3, 3}}));
  EXPECT_EQ(boxes.largest[0], (Box{0, 0, 4, 4}));
}

TEST(Boxes, AThresholdIsStrict) {
  const Boxes boxes = boxes_of_drawing({"4.8.."});
  EXPECT_EQ(boxes_at(boxes, 99), (Expected{{0, 0, 1, 0}, {2, 0, 3, 0}}));
  EXPECT_EQ(boxes_at(boxes, 100), (Expected{{2, 0, 3, 0}}));
}

TEST(Boxes, BoxesGrowAndMeetAsTheThresholdFalls) {
  const Boxes boxes = boxes_of_drawing({"..841..",  //
                                        "......6"});
  EXPECT_EQ(boxes_at(boxes, 199), (Expected{{2, 0, 3, 1}}));
  EXPECT_EQ(boxes_at(boxes, 149), (Expected{{2, 0, 3, 1}, {6, 1, 6, 1}}));
  EXPECT_EQ(boxes_at(boxes, 99), (Expected{{2, 0, 4, 1}, {6, 1, 6, 1}}));
  EXPECT_EQ(boxes_at(boxes, 24), (Expected{{2, 0, 5, 1}, {6, 1, 6, 1}}));
}

TEST(Boxes, WhereNothingIsAboveTheThresholdTheBoxIsZero) {
  const Boxes boxes = boxes_of_drawing({"..4"});
  EXPECT_EQ(boxes_at(boxes, 100), (Expected{{0, 0, 0, 0}}));
  EXPECT_EQ(boxes_at(boxes, 254), (Expected{{0, 0, 0, 0}}));
  EXPECT_EQ(boxes.largest[100], (Box{0, 0, 0, 0}));
  EXPECT_EQ(boxes_at(boxes_of_drawing({"...", "..."}), 0), (Expected{{0, 0, 0, 0}}));
}

TEST(Boxes, TheLargestContourHasTheLargestAreaNotTheMostPixels) {
  const Boxes boxes = boxes_of_drawing({"999999999.....",  // a line has no area
                                        "..............",  //
                                        "...........999",  //
                                        "...........9.9",  //
                                        "...........999"});
  EXPECT_EQ(boxes.largest[0], (Box{11, 2, 13, 4}));
}

TEST(Boxes, OfContoursWithTheSameAreaTheLastOneCounts) {
  const Boxes boxes = boxes_of_drawing({"....99",  //
                                        "99....",  //
                                        "......"});
  EXPECT_EQ(boxes.largest[0], (Box{0, 1, 2, 2}));
}

TEST(Boxes, AContourThatGrowsCanLoseAgainstOneOfTheSameArea) {
  const Boxes boxes = boxes_of_drawing({"....5.",  //
                                        "...9..",  //
                                        "9....."});
  EXPECT_EQ(boxes.largest[200], (Box{0, 2, 1, 2}));
  const Boxes others = boxes_of_drawing({"....5",  //
                                         "9..9.",  //
                                         "....."});
  EXPECT_EQ(others.largest[200], (Box{3, 1, 4, 2}));
  EXPECT_EQ(others.largest[100], (Box{0, 1, 1, 2}));
}

TEST(Boxes, AMapMustHaveItsSize) {
  EXPECT_THROW(static_cast<void>(boxes_of(NewBytes(5), {2, 3})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(boxes_of({}, {0, 0})), std::invalid_argument);
}

}  // namespace
}  // namespace tautstring_tasks::localise
