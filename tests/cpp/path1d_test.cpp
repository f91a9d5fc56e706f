// The lambdas at which jumps close, against the solutions below and above them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> path_of(const std::vector<double>& x, const std::vector<double>& weight = {}) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> lams(x.empty() ? 0 : x.size() - 1, -1);
  const Status status =
      path1d(view(x.data(), {n}), view(lams.data(), {static_cast<std::int64_t>(lams.size())}),
             weight.empty() ? ConstView{} : ConstView(view(weight.data(), {n})));
  EXPECT_TRUE(status.ok()) << message(status);
  return lams;
}

/// Whether the solution at lam jumps at each edge, by more than the rounding of its samples.
std::vector<bool> jumps_at(const Row& row, double lam) {
  const Solution solution({row.name, row.x, {lam}, row.weight});
  double size = 0;
  for (const double y : solution.y) size = std::max(size, std::abs(y));
  std::vector<bool> jumps;
  for (std::size_t i = 1; i < row.x.size(); ++i) {
    jumps.push_back(std::abs(solution.y[i] - solution.y[i - 1]) > 0x1p-51 * size);
  }
  return jumps;
}

/// Lambdas between those at which jumps close, and just below and above them, as far from them as
/// the rounding of the samples requires.
std::vector<double> lams_around(std::vector<double> path, double rounding) {
  std::sort(path.begin(), path.end());
  std::vector<double> lams;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const double next = i + 1 < path.size() ? path[i + 1] : 2 * path[i] + 1;
    const double step = 1e-10 * path[i] + rounding;
    if (next - path[i] < 4 * step) continue;
    lams.insert(lams.end(), {path[i] + step, (path[i] + next) / 2, next - step});
  }
  return lams;
}

class Path : public ::testing::TestWithParam<WeightKind> {};

/// At lambdas between two breakpoints, and just below and above each.
TEST_P(Path, SaysWhereEverySolutionJumps) {
  for (int k = 0; k < 400; ++k) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(k), 40, LamKind::uniform, GetParam());
    SCOPED_TRACE(row.name);
    if (present_samples(row).empty()) continue;
    const std::vector<double> path = path_of(row.x, row.weight);
    double size = 0;
    for (const double x : present_samples(row)) size = std::max(size, std::abs(x));
    const double width = row.weight.empty()
                             ? static_cast<double>(row.x.size())
                             : std::accumulate(row.weight.begin(), row.weight.end(), 0.0);
    const double rounding = 0x1p-48 * size * width;
    for (const double lam : lams_around(path, rounding)) {
      const std::vector<bool> jumps = jumps_at(row, lam);
      for (std::size_t e = 0; e < path.size(); ++e) {
        EXPECT_EQ(jumps[e], path[e] > lam)
            << "lam " << lam << ", edge " << e << " closes at " << path[e];
      }
    }
  }
}

/// The solution that the path says, proved optimal.
TEST_P(Path, GivesTheSolutionAtAnyLambda) {
  for (int k = 0; k < 200; ++k) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(k), 60, LamKind::uniform, GetParam());
    SCOPED_TRACE(row.name);
    if (present_samples(row).empty() || row.x.size() < 2) continue;
    const std::vector<double> path = path_of(row.x, row.weight);
    const double lam = 0.2937 * *std::max_element(path.begin(), path.end());
    if (lam == 0) continue;
    const Row at_lam = {row.name, row.x, {lam}, row.weight};
    const Solution solution(at_lam);
    const std::size_t n = row.x.size();
    const double offset = present_samples(row)[0];
    std::vector<double> y(n);
    for (std::size_t first = 0, last = 0; first < n; first = last) {
      double sum = 0;
      double width = 0;
      for (last = first; last < n && (last == first || path[last - 1] <= lam); ++last) {
        const double weight = row.weight.empty() ? 1 : row.weight[last];
        if (weight > 0) sum += weight * (row.x[last] - offset);
        width += weight;
      }
      const auto sign = [&](std::size_t at) {  // of the jump to sample `at`
        return solution.y[at] > solution.y[at - 1] ? 1.0 : -1.0;
      };
      const double q = (last < n ? sign(last) : 0) - (first > 0 ? sign(first) : 0);
      std::fill(y.begin() + static_cast<std::ptrdiff_t>(first),
                y.begin() + static_cast<std::ptrdiff_t>(last), offset + (sum + lam * q) / width);
    }
    const auto count = static_cast<std::int64_t>(n);
    double violation = kNan;
    const Problem1d problem = {
        .x = view(row.x.data(), {count}),
        .lam = lam,
        .weight = row.weight.empty() ? ConstView{} : ConstView(view(row.weight.data(), {count}))};
    ASSERT_TRUE(certificate1d(problem, view(y.data(), {count}), view(&violation, {1})).ok());
    EXPECT_LE(violation, certificate_tolerance(DType::float64, at_lam));
  }
}

TEST_P(Path, EndsWhereTheSolutionBecomesConstant) {
  for (int k = 0; k < 300; ++k) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(k), 200, LamKind::uniform, GetParam());
    SCOPED_TRACE(row.name);
    if (present_samples(row).empty() || row.x.size() < 2) continue;
    const std::vector<double> path = path_of(row.x, row.weight);
    const auto n = static_cast<std::int64_t>(row.x.size());
    double expected = kNan;
    ASSERT_TRUE(lam_max(view(row.x.data(), {n}), view(&expected, {1}),
                        row.weight.empty() ? ConstView{} : ConstView(view(row.weight.data(), {n})))
                    .ok());
    EXPECT_NEAR(*std::max_element(path.begin(), path.end()), expected, 1e-12 * expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Path,
                         ::testing::Values(WeightKind::none, WeightKind::positive,
                                           WeightKind::with_missing));

TEST(PathOf, SmallRowsByHand) {
  EXPECT_EQ(path_of({}), std::vector<double>{});
  EXPECT_EQ(path_of({5}), std::vector<double>{});
  EXPECT_EQ(path_of({5, 9}), std::vector<double>{2});
  EXPECT_EQ(path_of({9, 5}), std::vector<double>{2});
  EXPECT_EQ(path_of({3, 3, 3}), (std::vector<double>{0, 0}));
  EXPECT_EQ(path_of({0, 1, 0}), (std::vector<double>{1.0 / 3, 1.0 / 3}));
  EXPECT_EQ(path_of({1, 2, 8, 9}), (std::vector<double>{1, 7, 1}));
  EXPECT_EQ(path_of({0, 4, 4, 4, 0, 0}), (std::vector<double>{2.4, 0, 0, 4, 0}));
}

/// Both ends close m samples at lambda m (m + 1) / 2; in the middle two halves meet.
TEST(PathOf, ARampClosesFromItsEnds) {
  constexpr int kHalf = 50;
  std::vector<double> x;
  for (int i = 0; i < 2 * kHalf; ++i) x.push_back(i);
  const std::vector<double> path = path_of(x);
  for (int m = 1; m < kHalf; ++m) {
    EXPECT_DOUBLE_EQ(path[static_cast<std::size_t>(m - 1)], m * (m + 1) / 2);
    EXPECT_DOUBLE_EQ(path[static_cast<std::size_t>(2 * kHalf - m - 1)], m * (m + 1) / 2);
  }
  EXPECT_DOUBLE_EQ(path[kHalf - 1], kHalf * kHalf / 2.0);
}

TEST(PathOf, AMissingRunIsOneEdgeAtItsEnd) {
  EXPECT_EQ(path_of({5, kNan, kNan, 9}, {1, 0, 0, 1}), (std::vector<double>{0, 0, 2}));
  EXPECT_EQ(path_of({kNan, 5, 9, kNan}, {0, 1, 1, 0}), (std::vector<double>{0, 2, 0}));
  EXPECT_EQ(path_of({5, 5, 9}, {1, 1, 2}), (std::vector<double>{0, 4}));
}

TEST(PathOf, NonFiniteAndMissingRowsAreNan) {
  for (const std::vector<double>& path :
       {path_of({1, kNan, 2}), path_of({1, std::numeric_limits<double>::infinity(), 2}),
        path_of({1, 2, 3}, {0, 0, 0})}) {
    for (const double lam : path) EXPECT_TRUE(std::isnan(lam));
  }
}

TEST(PathOf, ExtremeSizesAreScaled) {
  EXPECT_EQ(path_of({0, 1e308, 0}), (std::vector<double>{1e308 / 3, 1e308 / 3}));
  EXPECT_EQ(path_of({0, 0x1p-1000}), (std::vector<double>{0x1p-1001}));
}

TEST(PathOf, ABatchHasTheSameBitsInAnyLayoutAndForAnyThreads) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kLength = 70;
  Random random(base_seed());
  std::vector<float> x(kRows * kLength);
  for (float& value : x) value = std::normal_distribution<float>()(random);
  std::vector<double> alone(kRows * (kLength - 1));
  ASSERT_TRUE(
      path1d(view(x.data(), {kRows, kLength}), view(alone.data(), {kRows, kLength - 1})).ok());
  for (const int threads : {1, 2, 5}) {
    ThreadExecutor executor(threads);
    Context context = {.executor = &executor};
    std::size_t bytes = 0;
    ASSERT_TRUE(path1d_workspace(view(x.data(), {kRows, kLength}), false, 1, context, bytes).ok());
    const std::unique_ptr<void, decltype(&std::free)> memory(
        std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free);
    context.workspace = memory.get();
    context.workspace_size = bytes;
    // Rows down the columns of the transposed arrays.
    std::vector<float> turned(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) turned[i % kLength * kRows + i / kLength] = x[i];
    std::vector<double> lams(alone.size());
    ASSERT_TRUE(path1d(view(turned.data(), {kLength, kRows}),
                       view(lams.data(), {kLength - 1, kRows}), {}, 0, context)
                    .ok());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      ASSERT_EQ(lams[i % (kLength - 1) * kRows + i / (kLength - 1)], alone[i]);
    }
  }
}

TEST(PathOf, BadArgumentsAreNamed) {
  std::vector<double> x = {1, 2, 3}, lams(2, 9);
  const ConstView row = view(x.data(), {3});
  const auto argument = [](const Status& status) { return std::string(status.argument); };
  EXPECT_EQ(argument(path1d({}, view(lams.data(), {2}))), "x");
  EXPECT_EQ(argument(path1d(row, view(lams.data(), {1}))), "lams");
  EXPECT_EQ(argument(path1d(row, {})), "lams");
  EXPECT_EQ(argument(path1d(row, view(x.data(), {2}))), "lams");
  EXPECT_EQ(argument(path1d(row, view(lams.data(), {2}), {}, 1)), "dim");
  const std::vector<double> weight = {1, -1, 1};
  EXPECT_EQ(argument(path1d(row, view(lams.data(), {2}), view(weight.data(), {3}))), "weight");
  std::byte small[64];
  EXPECT_EQ(argument(path1d(row, view(lams.data(), {2}), {}, -1,
                            {.workspace = small, .workspace_size = 1})),
            "workspace_size");
  EXPECT_EQ(lams, std::vector<double>(2, 9));
}

}  // namespace
}  // namespace tautstring::testing
