// ODS, OIS and AP of counts for which they can be computed by hand.
#include "edges/curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace tautstring_tasks::edges {
namespace {

/// Counts that are the same at all thresholds but the first `low` ones.
std::vector<Counts> two_steps(int low, const Counts& first, const Counts& rest) {
  std::vector<Counts> counts(kThresholds, rest);
  for (int k = 0; k < low; ++k) counts[to_index(k)] = first;
  return counts;
}

TEST(Curve, APointIsRecallPrecisionAndTheirHarmonicMean) {
  const Point point = point_of({3, 4, 5, 10}, 0.3);
  EXPECT_EQ(point.threshold, 0.3);
  EXPECT_EQ(point.recall, 0.75);
  EXPECT_EQ(point.precision, 0.5);
  EXPECT_DOUBLE_EQ(point.f, 0.6);
}

TEST(Curve, NothingToFindOrNothingFoundIsZero) {
  const Point point = point_of({}, 0.5);
  EXPECT_EQ(point.recall, 0);
  EXPECT_EQ(point.precision, 0);
  EXPECT_EQ(point.f, 0);
}

TEST(Curve, OdsIsTheBestPointAlsoBetweenThresholds) {
  // From (R, P) = (1, .5) to (.5, 1), F is .667 at both ends. In the middle both would be .75, but
  // the line has 100 points, so the best are the two next to it, which are equally good.
  const auto counts = two_steps(40, {10, 10, 10, 20}, {5, 10, 5, 5});
  const Summary summary = summarise(counts);
  const double off = 0.5 / 99;  // from the middle
  EXPECT_NEAR(std::abs(summary.ods.threshold - 0.405), 0.01 * off, 1e-12);
  EXPECT_NEAR(std::abs(summary.ods.recall - 0.75), 0.5 * off, 1e-12);
  EXPECT_NEAR(summary.ods.recall + summary.ods.precision, 1.5, 1e-12);
  EXPECT_NEAR(summary.ods.f, 2 * (0.75 - 0.5 * off) * (0.75 + 0.5 * off) / 1.5, 1e-12);
}

TEST(Curve, OisTakesEachImageAtItsOwnBestThreshold) {
  auto counts = two_steps(40, {10, 10, 10, 10}, {1, 10, 1, 10});
  const auto other = two_steps(40, {2, 30, 2, 40}, {20, 30, 20, 40});
  counts.insert(counts.end(), other.begin(), other.end());
  const Summary summary = summarise(counts);
  EXPECT_EQ(best_threshold(std::span(counts).first(kThresholds)), 0);
  EXPECT_EQ(best_threshold(other), 40);
  EXPECT_DOUBLE_EQ(summary.ois.recall, 30.0 / 40);
  EXPECT_DOUBLE_EQ(summary.ois.precision, 30.0 / 50);
  EXPECT_DOUBLE_EQ(summary.ois.f, 2 * 0.75 * 0.6 / 1.35);
  EXPECT_LT(summary.ods.f, summary.ois.f);
}

TEST(Curve, ApIsTheAreaWhereRecallReaches) {
  // Precision falls from 1 at R = .2 to .6 at R = .6: at .20, .21 ... .60 that is .8 on average.
  const auto counts = two_steps(40, {6, 10, 6, 10}, {2, 10, 2, 2});
  EXPECT_NEAR(summarise(counts).ap, 41 * 0.8 / 100, 1e-12);
}

TEST(Curve, OfTheSameRecallTheLowestThresholdCountsForAp) {
  auto counts = two_steps(40, {6, 10, 6, 10}, {6, 10, 6, 6});
  counts.back() = {2, 10, 2, 2};
  EXPECT_NEAR(summarise(counts).ap, 41 * 0.8 / 100, 1e-12);
}

TEST(Curve, OneRecallHasNoArea) {
  EXPECT_EQ(summarise(two_steps(0, {}, {5, 10, 5, 5})).ap, 0);
}

TEST(Curve, CountsAreSummedOverImages) {
  auto counts = two_steps(10, {1, 2, 3, 4}, {5, 6, 7, 8});
  const auto other = two_steps(20, {10, 20, 30, 40}, {50, 60, 70, 80});
  counts.insert(counts.end(), other.begin(), other.end());
  const Summary summary = summarise(counts);
  EXPECT_EQ(summary.counts[0], (Counts{11, 22, 33, 44}));
  EXPECT_EQ(summary.counts[15], (Counts{15, 26, 37, 48}));
  EXPECT_EQ(summary.counts[98], (Counts{55, 66, 77, 88}));
  EXPECT_EQ(summary.curve[15].recall, 15.0 / 26);
}

TEST(Curve, AnotherNumberOfThresholdsIsRejected) {
  EXPECT_THROW(static_cast<void>(summarise({})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(summarise(std::vector<Counts>(98))), std::invalid_argument);
}

}  // namespace
}  // namespace tautstring_tasks::edges
