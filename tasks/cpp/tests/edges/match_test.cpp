// Matchings against brute force on small maps, and by hand.
#include "edges/match.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

#include "tests/edges/pictures.h"

namespace tautstring_tasks::edges {
namespace {

std::vector<int> places_of(const Drawing& drawing) {
  std::vector<int> places;
  for (int i = 0; to_index(i) < drawing.map.size(); ++i) {
    if (drawing.map[to_index(i)] != 0) places.push_back(i);
  }
  return places;
}

double distance(int place, int other, Size size) {
  const int dy = place / size.width - other / size.width;
  const int dx = place % size.width - other % size.width;
  return std::sqrt(static_cast<double>(dy * dy + dx * dx));
}

/// The best matching by trial of all: the largest, and of these one of the least sum of distances,
/// in hundredths, where only the pixels of `allowed` may get a partner.
class BruteForce {
 public:
  BruteForce(std::vector<int> predicted, std::vector<int> truth, Size size, double max_distance)
      : predicted_(std::move(predicted)),
        truth_(std::move(truth)),
        size_(size),
        max_distance_(max_distance),
        is_used_(truth_.size(), false) {}

  std::pair<int, long> best(const std::vector<bool>& allowed) {
    best_ = {0, 0};
    search(allowed, 0, 0, 0);
    return best_;
  }
  std::pair<int, long> best() { return best(std::vector<bool>(predicted_.size(), true)); }

 private:
  void search(const std::vector<bool>& allowed, std::size_t i, int pairs, long sum) {
    if (i == predicted_.size()) {
      if (pairs > best_.first || (pairs == best_.first && sum < best_.second)) best_ = {pairs, sum};
      return;
    }
    search(allowed, i + 1, pairs, sum);
    if (!allowed[i]) return;
    for (std::size_t j = 0; j < truth_.size(); ++j) {
      const double far = distance(predicted_[i], truth_[j], size_);
      if (is_used_[j] || far > max_distance_) continue;
      is_used_[j] = true;
      search(allowed, i + 1, pairs + 1, sum + std::lround(100 * far));
      is_used_[j] = false;
    }
  }

  std::vector<int> predicted_;
  std::vector<int> truth_;
  Size size_;
  double max_distance_;
  std::vector<bool> is_used_;
  std::pair<int, long> best_;
};

/// Expects pairs that are close, and nobody twice.
void expect_valid(const Matching& matching, const std::vector<int>& predicted,
                  const std::vector<int>& truth, Size size, double max_distance) {
  std::vector<bool> is_used(truth.size(), false);
  int pairs = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const int partner = matching.partners()[i];
    if (partner < 0) continue;
    ++pairs;
    EXPECT_FALSE(is_used[to_index(partner)]);
    is_used[to_index(partner)] = true;
    EXPECT_LE(distance(predicted[i], truth[to_index(partner)], size), max_distance);
  }
  EXPECT_EQ(pairs, matching.size());
}

TEST(Match, SizeAndChoiceAreThoseOfBruteForce) {
  std::mt19937 random(4);
  const Size size{4, 6};
  for (int round = 0; round < 400; ++round) {
    const Drawing predicted = scattered(size, 25, random);
    const Drawing truth = scattered(size, 20, random);
    const double max_distance = std::sqrt(static_cast<double>(random() % 6));
    const Truth prepared(truth.map, size, max_distance);
    Matching matching(prepared);
    const auto places = places_of(predicted);
    matching.match(places);
    expect_valid(matching, places, places_of(truth), size, max_distance);
    BruteForce all(places, places_of(truth), size, max_distance);
    EXPECT_EQ(matching.size(), all.best().first);
    // With only the chosen pixels the sum is as little as with all of them.
    std::vector<bool> chosen;
    for (const int partner : matching.partners()) chosen.push_back(partner >= 0);
    EXPECT_EQ(all.best(chosen), all.best());
  }
}

TEST(Match, RematchHasTheSameSize) {
  std::mt19937 random(5);
  const Size size{40, 50};
  const Drawing truth = scattered(size, 15, random);
  for (const double max_distance : {0.0, 1.0, 2.9, 100.0}) {
    const Truth prepared(truth.map, size, max_distance);
    Matching continued(prepared);
    Matching fresh(prepared);
    Drawing predicted = scattered(size, 2, random);
    for (int round = 0; round < 12; ++round) {
      for (int changes = 0; changes < 60; ++changes) {
        auto& pixel = predicted.map[random() % predicted.map.size()];
        pixel = random() % 4 == 0 ? 0 : 1;
      }
      const auto places = places_of(predicted);
      continued.rematch(places);
      fresh.match(places);
      expect_valid(continued, places, places_of(truth), size, max_distance);
      expect_valid(fresh, places, places_of(truth), size, max_distance);
      EXPECT_EQ(continued.size(), fresh.size());
    }
  }
}

TEST(Match, AChainIsShiftedForOnePairMore) {
  // Each predicted pixel may get the true one to its left or right; all get one only if all move.
  const Drawing predicted = drawn({".#.#.#.#."});
  const Drawing truth = drawn({"..#.#.#.#"});
  const Matched result = matched(predicted.map, truth.map, truth.size, 1);
  EXPECT_EQ(result.predicted, predicted.map);
  EXPECT_EQ(result.truth, truth.map);
}

TEST(Match, OfTwoRivalsTheCloserOneIsChosen) {
  const Drawing truth = drawn({"....#...."});
  EXPECT_EQ(
      text_of(matched(drawn({".#....#.."}).map, truth.map, truth.size, 4).predicted, truth.size),
      "......#..\n");
  EXPECT_EQ(
      text_of(matched(drawn({"..#....#."}).map, truth.map, truth.size, 4).predicted, truth.size),
      "..#......\n");
}

TEST(Match, ThreeMustNotShareTwo) {
  // Among the four there are two for three.
  const Matched result = matched(drawn({"###......#"}).map, drawn({"#.#......."}).map, {1, 10}, 2);
  EXPECT_EQ(text_of(result.predicted, {1, 10}), "#.#.......\n");
}

TEST(Match, ADistanceEqualToTheGreatestIsClose) {
  const Drawing predicted = drawn({"#....", ".....", ".....", "....."});
  const Drawing truth = drawn({".....", ".....", ".....", "....#"});
  EXPECT_EQ(matched(predicted.map, truth.map, truth.size, 5).predicted, predicted.map);
  EXPECT_EQ(matched(predicted.map, truth.map, truth.size, 4.999).predicted, NewBytes(20));
}

TEST(Match, RowsDoNotRunIntoOneAnother) {
  // The end of a row is next to the start of the next one in memory.
  const Drawing predicted = drawn({"....#", "....."});
  const Drawing truth = drawn({".....", "#...."});
  EXPECT_EQ(matched(predicted.map, truth.map, truth.size, 2).truth, NewBytes(10));
}

TEST(Match, EmptyMapsHaveNoPairs) {
  const Drawing some = drawn({"##", "##"});
  EXPECT_EQ(matched(NewBytes(4), some.map, some.size, 3).truth, NewBytes(4));
  EXPECT_EQ(matched(some.map, NewBytes(4), some.size, 3).predicted, NewBytes(4));
  EXPECT_TRUE(matched({}, {}, {0, 0}, 1).truth.empty());
}

TEST(Match, BadArgumentsAreRejected) {
  const NewBytes map(4);
  EXPECT_THROW(matched(map, map, {2, 3}, 1), std::invalid_argument);
  EXPECT_THROW(matched(NewBytes(6), map, {2, 3}, 1), std::invalid_argument);
  EXPECT_THROW(matched(map, map, {2, 2}, -1), std::invalid_argument);
  EXPECT_THROW(matched(map, map, {2, 2}, std::numeric_limits<double>::quiet_NaN()),
               std::invalid_argument);
}

}  // namespace
}  // namespace tautstring_tasks::edges
