// Counts by hand, and the same counts on any number of threads.
#include "edges/count.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "tests/edges/pictures.h"

namespace tautstring_tasks::edges {
namespace {

std::vector<Counts> counts_of(const std::vector<Image>& images, const CountOptions& options) {
  std::vector<Counts> counts(images.size() * kThresholds);
  EXPECT_TRUE(count(images, options, counts));
  return counts;
}

TEST(Count, APixelIsThereUpToItsValue) {
  // 51 / 255 is .2, 127 / 255 is .498...
  const NewBytes map{0, 51, 0, 127, 0};
  const NewBytes truth{0, 0, 1, 1, 0};
  const auto counts = counts_of({{{1, 5}, map, {truth}}}, {.max_dist = 0});
  for (int k = 0; k < kThresholds; ++k) {
    const int hundredths = k + 1;
    const Counts expected{.matched_truth = hundredths <= 49,
                          .truth = 2,
                          .matched_predicted = hundredths <= 49,
                          .predicted = (hundredths <= 20) + (hundredths <= 49)};
    EXPECT_EQ(counts[to_index(k)], expected) << hundredths;
  }
}

TEST(Count, TheDistanceIsAFractionOfTheDiagonal) {
  const Drawing map = drawn({"#..", "...", "...", "..."}, 255);
  const Drawing truth = drawn({"..#", "...", "...", "..."});
  const std::vector<Image> images{{map.size, map.map, {truth.map}}};  // the diagonal is 5
  EXPECT_EQ(counts_of(images, {.max_dist = 0.4})[0].matched_truth, 1);
  EXPECT_EQ(counts_of(images, {.max_dist = 0.399})[0].matched_truth, 0);
}

TEST(Count, AnnotatorsAreSummedAndAPredictedPixelNeedsOneOfThem) {
  const NewBytes map{255, 0, 255, 0, 255, 0};
  const NewBytes one{1, 0, 1, 0, 0, 0};
  const NewBytes other{0, 1, 1, 0, 0, 1};
  const auto counts = counts_of({{{1, 6}, map, {one, other}}}, {.max_dist = 0});
  const Counts expected{.matched_truth = 3, .truth = 5, .matched_predicted = 2, .predicted = 3};
  for (const Counts& each : counts) EXPECT_EQ(each, expected);
}

TEST(Count, MapsAreThinnedAtEachThreshold) {
  const Drawing map = drawn({".......", ".#####.", ".#####.", ".#####.", "......."}, 100);
  const auto counts = counts_of({{map.size, map.map, {map.map}}}, {});
  EXPECT_EQ(counts[0].predicted, 3);
  EXPECT_EQ(counts[0].truth, 15);  // which is not thinned
}

TEST(Count, ThreadsChangeNothing) {
  std::mt19937 random(6);
  std::vector<Drawing> drawings;
  for (const Size size : {Size{30, 40}, Size{40, 30}, Size{7, 90}}) {
    drawings.push_back(noise(size, random));
    for (int annotator = 0; annotator < 3; ++annotator) {
      drawings.push_back(scattered(size, 10, random));
    }
  }
  std::vector<Image> images;
  for (std::size_t i = 0; i < drawings.size(); i += 4) {
    images.push_back({drawings[i].size, drawings[i].map, {}});
    for (std::size_t k = 1; k < 4; ++k) images.back().truths.push_back(drawings[i + k].map);
    images.push_back({drawings[i].size, drawings[i].map, {drawings[i + 1].map}});
  }
  const auto alone = counts_of(images, {.max_dist = 0.05, .threads = 1});
  for (const int threads : {0, 2, 3, 16}) {
    EXPECT_EQ(counts_of(images, {.max_dist = 0.05, .threads = threads}), alone);
  }
}

TEST(Count, AStopIsReported) {
  std::mt19937 random(7);
  const Drawing map = noise({120, 120}, random);
  std::vector<Image> images(2000, {map.size, map.map, {map.map}});
  std::vector<Counts> counts(images.size() * kThresholds);
  EXPECT_FALSE(count(images, {}, counts, [](std::size_t) { return false; }));
}

std::string message_of(const std::vector<Image>& images, double max_dist, std::size_t size) {
  std::vector<Counts> counts(size);
  try {
    count(images, {.max_dist = max_dist}, counts);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no exception";
}

TEST(Count, BadArgumentsAreNamed) {
  const NewBytes map(6);
  const NewBytes small(5);
  const Image good{{2, 3}, map, {map}};
  EXPECT_EQ(message_of({good}, -1, 99), "max_dist: must be in [0, 1], got -1.000000");
  EXPECT_EQ(message_of({good}, 0.1, 98), "counts: must have 99 items per image");
  EXPECT_EQ(message_of({good, {{2, 3}, map, {}}}, 0.1, 198), "image 1: has no truth");
  EXPECT_EQ(message_of({{{2, 3}, map, {map, small}}}, 0.1, 99),
            "image 0: the map and its truths differ in size");
}

}  // namespace
}  // namespace tautstring_tasks::edges
