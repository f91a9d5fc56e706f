// Overlaps and counts of pixels by hand.
#include "localise/score.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace tautstring_tasks::localise {
namespace {

/// A map of the scored size, which is `value` inside a box and 0 elsewhere.
NewFloats block(const Box& box, float value = 1) {
  NewFloats map(kScored.pixels());
  for (int y = box.y0; y <= box.y1; ++y) {
    for (int x = box.x0; x <= box.x1; ++x) map[to_index(y * kScored.width + x)] = value;
  }
  return map;
}

Image image_of(const NewFloats& map, std::vector<Box> boxes) {
  return {.size = kScored, .map = map, .boxes = std::move(boxes), .mask = {}};
}

TEST(Overlap, ColumnsAndRowsAreInclusive) {
  EXPECT_EQ(overlap({0, 0, 9, 9}, {0, 0, 9, 9}), 100);
  EXPECT_EQ(overlap({0, 0, 9, 9}, {0, 0, 9, 4}), 50);
  EXPECT_EQ(overlap({0, 0, 9, 9}, {0, 0, 9, 2}), 30);
  EXPECT_EQ(overlap({0, 0, 9, 9}, {0, 0, 9, 6}), 70);
  EXPECT_EQ(overlap({0, 0, 9, 9}, {9, 9, 9, 9}), 1);
  EXPECT_EQ(overlap({0, 0, 9, 9}, {10, 0, 19, 9}), 0);
}

TEST(Overlap, PercentAreRoundedDown) {
  EXPECT_EQ(overlap({0, 0, 2, 0}, {0, 0, 1, 0}), 66);
}

TEST(ScoreBoxes, TheBoxOfABlockIsAPixelTooLarge) {
  const NewFloats map = block({10, 20, 108, 118});
  const std::vector<Image> images{image_of(map, {{10, 20, 109, 119}})};
  const std::vector<Overlaps> found = score_boxes(images, 1);
  for (int cut = 0; cut < kCuts; ++cut) {
    EXPECT_EQ(found[0].all[to_index(cut)], 100);
    EXPECT_EQ(found[0].largest[to_index(cut)], 100);
  }
}

TEST(ScoreBoxes, TheBestOfAllBoxesCountsOrOnlyTheLargest) {
  NewFloats map = block({10, 10, 60, 60});
  const NewFloats other = block({100, 100, 119, 119}, 0.5F);
  std::transform(map.begin(), map.end(), other.begin(), map.begin(), std::plus<>());
  const std::vector<Image> images{image_of(map, {{0, 0, 1, 1}, {100, 100, 120, 120}})};
  const std::vector<Overlaps> found = score_boxes(images, 1);
  EXPECT_EQ(found[0].all[126], 100);
  EXPECT_EQ(found[0].all[127], 0);
  EXPECT_EQ(found[0].largest[126], 0);
}

TEST(ScoreBoxes, AConstantMapHasTheBoxOfOnePixelAtTheCorner) {
  const NewFloats map(kScored.pixels(), 3.0F);
  const std::vector<Image> images{image_of(map, {{0, 0, 1, 1}})};
  const std::vector<Overlaps> found = score_boxes(images, 1);
  EXPECT_EQ(found[0].all[0], 25);
  EXPECT_EQ(found[0].largest[254], 25);
}

TEST(ScoreBoxes, ThreadsDoNotChangeTheScores) {
  std::vector<NewFloats> maps;
  for (int i = 0; i < 9; ++i) maps.push_back(block({i, i, 50 + 3 * i, 60 + i}));
  std::vector<Image> images;
  for (const NewFloats& map : maps) images.push_back(image_of(map, {{10, 10, 50, 50}}));
  const std::vector<Overlaps> one = score_boxes(images, 1);
  const std::vector<Overlaps> four = score_boxes(images, 4);
  for (std::size_t i = 0; i < images.size(); ++i) EXPECT_EQ(one[i].all, four[i].all);
}

TEST(ScoreBoxes, WhatCannotBeScoredIsNamed) {
  const NewFloats map = block({1, 1, 2, 2});
  const std::vector<Image> without{image_of(map, {})};
  EXPECT_THROW(static_cast<void>(score_boxes(without, 1)), std::invalid_argument);
  const std::vector<Image> small{{.size = {2, 2}, .map = map, .boxes = {{0, 0, 1, 1}}, .mask = {}}};
  EXPECT_THROW(static_cast<void>(score_boxes(small, 1)), std::invalid_argument);
}

TEST(CountPixels, IgnoredPixelsDoNotCount) {
  const NewFloats map = block({0, 0, 9, 9});
  NewBytes mask(kScored.pixels());
  for (std::size_t x = 0; x < 10; ++x) {
    mask[x] = 1;
    mask[to_index(kScored.width) + x] = kIgnored;
    mask[200 + x] = 1;
  }
  const std::vector<Image> images{{.size = kScored, .map = map, .boxes = {}, .mask = mask}};
  const PixelCounts counts = count_pixels(images, 1);
  EXPECT_EQ(counts.objects[kBins - 1], 10);
  EXPECT_EQ(counts.objects[0], 10);
  EXPECT_EQ(counts.others[kBins - 1], 80);
  EXPECT_EQ(std::accumulate(counts.others.begin(), counts.others.end(), std::int64_t{0}),
            static_cast<std::int64_t>(kScored.pixels()) - 30);
}

TEST(CountPixels, ABinIncludesItsLowerLimit) {
  NewFloats map(kScored.pixels(), 0.5F);
  map[0] = 0;
  map[1] = 1;
  map[2] = 0.4995F;
  const NewBytes mask(kScored.pixels(), 1);
  const std::vector<Image> images{{.size = kScored, .map = map, .boxes = {}, .mask = mask}};
  const PixelCounts counts = count_pixels(images, 1);
  EXPECT_EQ(counts.objects[500], static_cast<std::int64_t>(kScored.pixels()) - 3);
  EXPECT_EQ(counts.objects[499], 1);
  EXPECT_EQ(counts.objects[0], 1);
  EXPECT_EQ(counts.objects[1000], 1);
}

TEST(CountPixels, AMaskMustHaveTheScoredSize) {
  const NewFloats map = block({0, 0, 9, 9});
  const NewBytes mask(10);
  const std::vector<Image> images{{.size = kScored, .map = map, .boxes = {}, .mask = mask}};
  EXPECT_THROW(static_cast<void>(count_pixels(images, 1)), std::invalid_argument);
}

}  // namespace
}  // namespace tautstring_tasks::localise
