// segments1d, lam_max, tv.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

TEST(Segments, ListTheChangePointsOfEveryRow) {
  std::vector<double> x = {1, 2, 8, 9,  //
                           5, 5, 5, 5},
                      y(8);
  std::vector<std::uint32_t> partition(2);
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {2, 4}), .lam = 1.0}, view(y.data(), {2, 4}), partition).ok());
  std::vector<std::int64_t> offsets(3);
  ASSERT_TRUE(segments1d_offsets(partition, 2, 4, offsets).ok());
  EXPECT_EQ(offsets, (std::vector<std::int64_t>{0, 2, 3}));
  std::vector<Segment> segments(3);
  ASSERT_TRUE(segments1d(view(y.data(), {2, 4}), partition, segments).ok());
  EXPECT_EQ(segments[0].length, 2);
  EXPECT_EQ(segments[0].value, 2);
  EXPECT_EQ(segments[0].sign, 0);
  EXPECT_EQ(segments[1].start, 2);
  EXPECT_EQ(segments[1].value, 8);
  EXPECT_EQ(segments[1].sign, 1);
  EXPECT_EQ(segments[2].start, 0);
  EXPECT_EQ(segments[2].value, 5);
  EXPECT_EQ(segments[2].length, 4);
}

TEST(Segments, FollowTheStridesOfTheSolution) {
  std::vector<float> y = {1, 5,  //
                          1, 7},
                     x = y;
  const std::vector<std::uint32_t> partition = {3, 3 | 1 << 2};  // of the two columns
  std::vector<Segment> segments(3);
  ASSERT_TRUE(segments1d(view(y.data(), {2, 2}), partition, segments, 0).ok());
  EXPECT_EQ(segments[0].value, 1);
  EXPECT_EQ(segments[1].value, 5);
  EXPECT_EQ(segments[2].value, 7);
}

TEST(Segments, ARowsFirstElementStartsOneWhateverItsCode) {
  const std::vector<double> y = {1, 1, 2, 2};
  const std::vector<std::uint32_t> partition = {3, 0};
  std::vector<Segment> segments(2);
  ASSERT_TRUE(segments1d(view(y.data(), {2, 2}), partition, segments).ok());
  EXPECT_EQ(segments[0].length, 2);
  EXPECT_EQ(segments[1].value, 2);
}

TEST(Segments, CoverTheRow) {
  for (int i = 0; i < 200; ++i) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100, LamKind::edges,
                               WeightKind::none);
    const Solution solution(row);
    const auto n = static_cast<std::int64_t>(row.x.size());
    std::vector<std::int64_t> offsets(2);
    ASSERT_TRUE(segments1d_offsets(solution.partition, 1, n, offsets).ok());
    std::vector<Segment> segments(static_cast<std::size_t>(offsets[1]));
    ASSERT_TRUE(segments1d(view(solution.y.data(), {n}), solution.partition, segments).ok());
    std::int64_t next = 0;
    for (const Segment& segment : segments) {
      ASSERT_EQ(segment.start, next);
      next += segment.length;
      for (std::int64_t k = segment.start; k < next; ++k) {
        ASSERT_EQ(solution.y[static_cast<std::size_t>(k)], segment.value);
      }
    }
    ASSERT_EQ(next, n);
  }
}

TEST(LamMax, IsWhereTheSolutionBecomesConstant) {
  for (int i = 0; i < 500; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100, LamKind::uniform,
                         i % 2 == 0 ? WeightKind::none : WeightKind::with_missing);
    SCOPED_TRACE(row.name);
    const auto n = static_cast<std::int64_t>(row.x.size());
    double lam = 0;
    ASSERT_TRUE(lam_max(view(row.x.data(), {n}), view(&lam, {1}),
                        row.weight.empty() ? ConstView{} : view(row.weight.data(), {n}))
                    .ok());
    // If the whole row is one value up to rounding, lam_max is only rounding too.
    const double rounding = 1e-9 * range_of(row.x) + 1e-9 * lam;
    if (lam <= rounding) continue;
    row.lam = {lam + rounding};
    ASSERT_EQ(range_of(Solution(row).y), 0);
    row.lam = {lam - rounding};
    ASSERT_GT(range_of(Solution(row).y), 0);
  }
}

TEST(LamMax, OfExtremeSizesDoesNotOverflow) {
  double lam = 0;
  const double max = std::numeric_limits<double>::max();
  std::vector<double> x = {max, -max}, weight = {1e308, 1e308};
  ASSERT_TRUE(lam_max(view(x.data(), {2}), view(&lam, {1})).ok());
  EXPECT_EQ(lam, max);
  x = {1, 2};
  ASSERT_TRUE(lam_max(view(x.data(), {2}), view(&lam, {1}), view(weight.data(), {2})).ok());
  EXPECT_DOUBLE_EQ(lam, 5e307);
  x = {max, max, -max, -max};
  ASSERT_TRUE(lam_max(view(x.data(), {4}), view(&lam, {1})).ok());
  EXPECT_EQ(lam, std::numeric_limits<double>::infinity());  // 2 max
  weight.assign(4, 0x1p-900);
  ASSERT_TRUE(lam_max(view(x.data(), {4}), view(&lam, {1}), view(weight.data(), {4})).ok());
  EXPECT_EQ(lam, max * 0x1p-899);
}

TEST(LamMax, IsZeroForConstantAndShortRows) {
  double lam = -1;
  const std::vector<double> x(7, 0.1);
  ASSERT_TRUE(lam_max(view(x.data(), {7}), view(&lam, {1})).ok());
  EXPECT_EQ(lam, 0);
  ASSERT_TRUE(lam_max(view(x.data(), {1}), view(&lam, {1})).ok());
  EXPECT_EQ(lam, 0);
}

TEST(TotalVariation, SumsTheAbsoluteDifferencesOfEachRow) {
  const std::vector<float> x = {0, 3, 1,  //
                                5, 5, 4};
  std::vector<float> along_rows(2), along_columns(3);
  ASSERT_TRUE(tv(view(x.data(), {2, 3}), view(along_rows.data(), {2, 1})).ok());
  EXPECT_EQ(along_rows, (std::vector<float>{5, 1}));
  ASSERT_TRUE(tv(view(x.data(), {2, 3}), view(along_columns.data(), {1, 3}), 0).ok());
  EXPECT_EQ(along_columns, (std::vector<float>{5, 2, 3}));
}

TEST(TotalVariation, OfInfiniteOrTooLargeJumpsIsInfinite) {
  double result = 0;
  const double max = std::numeric_limits<double>::max();
  for (const std::vector<double>& x :
       {std::vector<double>{0, std::numeric_limits<double>::infinity()}, {-max, max, -max}}) {
    const auto n = static_cast<std::int64_t>(x.size());
    ASSERT_TRUE(tv(view(x.data(), {n}), view(&result, {1})).ok());
    EXPECT_EQ(result, std::numeric_limits<double>::infinity());
  }
}

TEST(Reductions, OfRowsWithoutSamples) {
  double result = 7;
  const View none = view(static_cast<double*>(nullptr), {1, 0});
  ASSERT_TRUE(tv(none, view(&result, {1, 1})).ok());
  EXPECT_EQ(result, 0);
  ASSERT_TRUE(lam_max(none, view(&result, {1, 1})).ok());
  EXPECT_TRUE(std::isnan(result));
  ASSERT_TRUE(certificate1d({.x = none, .lam = 1.0}, none, view(&result, {1, 1})).ok());
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace tautstring::testing
