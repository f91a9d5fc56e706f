// Newton's own results, without help from the direct solver, are as good as those of that solver.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "reference/tv1d_reference.h"
#include "support/borders.h"
#include "support/newton.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

constexpr LineSearch kSearches[] = {LineSearch::interpolation, LineSearch::halving};

Newton1d alone(LineSearch search = LineSearch::interpolation) {
  return {.line_search = search, .polish = false};
}

std::string family_of(const Row& row) {
  return row.name.substr(0, row.name.find(' '));
}

struct Kind {
  const char* name;
  LamKind lam;
  LineSearch search;
};

class NewtonOptimality : public ::testing::TestWithParam<Kind> {
 protected:
  template <class Check>
  void for_each_row(int count, int longest, Check check) {
    RecordProperty("seed", std::to_string(base_seed()));
    for (int i = 0; i < count; ++i) {
      const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), longest,
                                 GetParam().lam, WeightKind::none);
      SCOPED_TRACE(row.name);
      check(row, NewtonCall(row, alone(GetParam().search)));
      if (HasFailure()) return;
    }
  }
};

/// How many rows of a family there were, and how many were left to the direct solver.
struct Share {
  int rows = 0;
  int left = 0;
};

/// If samples alternate, a row is flat in pairs and has no hint where to start: segments grow by
/// one pair per iteration.
bool may_be_left(const std::string& family) {
  return family == "growing_alternation";
}

TEST_P(NewtonOptimality, CertificateIsBelowTolerance) {
  for_each_row(3000, 200, [](const Row& row, const NewtonCall& call) {
    EXPECT_TRUE(call.converged[0]);
    EXPECT_LE(certificate_of(row, call.y), certificate_tolerance(DType::float64, row));
  });
}

TEST_P(NewtonOptimality, LongRowsAreCertifiedAndNearlyAllConverge) {
  std::map<std::string, Share> shares;
  for_each_row(600, 4096, [&](const Row& row, const NewtonCall& call) {
    Share& share = shares[family_of(row)];
    ++share.rows;
    if (call.converged[0] != 0) {
      EXPECT_LE(certificate_of(row, call.y), certificate_tolerance(DType::float64, row));
      return;
    }
    ++share.left;
    EXPECT_TRUE(may_be_left(family_of(row)));
    EXPECT_LE(certificate_of(row, NewtonCall(row).y), certificate_tolerance(DType::float64, row));
  });
  for (const auto& [family, share] : shares) {
    RecordProperty("left_" + family,
                   std::to_string(share.left) + " of " + std::to_string(share.rows));
    EXPECT_LE(share.left, share.rows / 4) << family;
  }
}

TEST_P(NewtonOptimality, AgreesWithReference) {
  for_each_row(2000, 60, [](const Row& row, const NewtonCall& call) {
    const std::vector<double> expected = reference::prox_tv1d(row.x, edges_of(row));
    for (std::size_t i = 0; i < row.x.size(); ++i) {
      ASSERT_NEAR(call.y[i], expected[i], value_tolerance(DType::float64, row)) << "at " << i;
    }
  });
}

TEST_P(NewtonOptimality, TheDualIsTheRunningSumOfTheChangeWithinItsBounds) {
  for_each_row(1000, 200, [](const Row& row, const NewtonCall& call) {
    const std::vector<double> lam = edges_of(row);
    const std::vector<Code> codes = call.codes();
    // As in a certificate: the error of n values when their offset is added back.
    double size = range_of(row.x);
    for (const double value : lam) size = std::max(size, value);
    const double tolerance = size * certificate_tolerance(DType::float64, row);
    double sum = 0;
    for (std::size_t i = 0; i < lam.size(); ++i) {
      sum += row.x[i] - call.y[i];
      ASSERT_LE(std::abs(call.dual[i]), lam[i]) << i;
      ASSERT_NEAR(call.dual[i], sum, tolerance) << i;
      if (codes[i + 1] == Code::continues) continue;
      ASSERT_EQ(call.dual[i], -jump_sign(codes[i + 1]) * lam[i]) << i;  // bit for bit
    }
  });
}

TEST_P(NewtonOptimality, TheGapIsRounding) {
  for_each_row(1000, 200, [](const Row& row, const NewtonCall& call) {
    const double objective = reference::objective(row.x, edges_of(row), {}, call.y);
    EXPECT_GE(call.gap[0], 0);
    // Values far from 0 are rounded, which is part of what is returned.
    const double unit = unit_in_last_place(DType::float64, row.x[0]);
    EXPECT_LE(call.gap[0], 1e-24 * objective + 1e-24 * std::pow(range_of(row.x), 2) +
                               static_cast<double>(row.x.size()) * unit * unit);
  });
}

constexpr Kind kKinds[] = {
    {"Uniform", LamKind::uniform, LineSearch::interpolation},
    {"Edges", LamKind::edges, LineSearch::interpolation},
    {"UniformByHalving", LamKind::uniform, LineSearch::halving},
    {"EdgesByHalving", LamKind::edges, LineSearch::halving},
};
INSTANTIATE_TEST_SUITE_P(Kinds, NewtonOptimality, ::testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

TEST(NewtonRows, NoiseIsNeverLeftToTheDirectSolver) {
  for (const int n : {2, 3, 32, 33, 224, 1024, 4096}) {
    Random random(base_seed());
    const std::int64_t rows = 40'000 / n;
    const std::vector<double> x = families()[0].make(random, n * static_cast<int>(rows));
    for (const double lam : {0.05, 1.0, 10.0, 100.0}) {
      for (const LineSearch search : kSearches) {
        const NewtonCall call(x, rows, lam, alone(search));
        EXPECT_EQ(std::count(call.converged.begin(), call.converged.end(), 1), rows)
            << n << " samples, lam " << lam;
        EXPECT_LE(*std::max_element(call.iterations.begin(), call.iterations.end()), 30);
      }
    }
  }
}

TEST(NewtonRows, BothLineSearchesShortenStepsAndEndAtTheSameSolution) {
  constexpr std::int64_t kRows = 10;
  constexpr std::int64_t kLength = 4096;
  Random random(base_seed());
  const std::vector<double> x = families()[0].make(random, kRows * kLength);
  const std::vector<double> zeros(kRows * (kLength - 1));
  std::vector<NewtonCall> calls;
  for (const LineSearch search : kSearches) {
    Newton1d newton = alone(search);
    newton.start = view(zeros.data(), {kRows, kLength - 1});
    calls.emplace_back(x, kRows, 10.0, newton);
    EXPECT_EQ(calls.back().converged, std::vector<std::uint8_t>(kRows, 1));
  }
  EXPECT_NE(calls[0].iterations, calls[1].iterations);  // full steps would give the same count
  EXPECT_EQ(calls[0].partition, calls[1].partition);
  EXPECT_EQ(calls[0].y, calls[1].y);
}

/// Here the paper's own code stalls or stops at its 100 iterations: only one edge per iteration
/// becomes free.
TEST(NewtonRows, RampsAndSinesTakeFewIterations) {
  for (const int n : {100, 512, 513, 4096, 50'000}) {
    for (const double lam : {0.05, 1.0, 10.0, 1000.0}) {
      Row ramp{"ramp", {}, {lam}, {}};
      Row sine{"sine", {}, {lam}, {}};
      for (int i = 0; i < n; ++i) {
        ramp.x.push_back(i / 8.0);
        sine.x.push_back(10 * std::sin(2 * std::numbers::pi * 3 * i / n));
      }
      for (const Row& row : {ramp, sine}) {
        for (const LineSearch search : kSearches) {
          SCOPED_TRACE(row.name + " " + std::to_string(n) + " lam " + std::to_string(lam));
          const NewtonCall call(row, alone(search));
          EXPECT_TRUE(call.converged[0]);
          EXPECT_LE(call.iterations[0], 6);
          EXPECT_LE(certificate_of(row, call.y), certificate_tolerance(DType::float64, row));
        }
      }
    }
  }
}

/// The paper's own code has thresholds in the unit of the data: it is wrong for all ranges except
/// [0, 1].
TEST(NewtonRows, ResultsScaleWithTheData) {
  Random random(base_seed());
  const std::vector<double> x = families()[1].make(random, 300);
  const NewtonCall expected(Row{"", x, {0.7}, {}}, alone());
  for (const double scale : {0x1p-10, 0x1p8, 0x1p-300, 0x1p300}) {
    Row scaled{"", x, {0.7 * scale}, {}};
    for (double& value : scaled.x) value *= scale;
    const NewtonCall call(scaled, alone());
    EXPECT_EQ(call.partition, expected.partition) << scale;
    EXPECT_EQ(call.iterations, expected.iterations);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(call.y[i] / scale, expected.y[i], 1e-15) << scale << " at " << i;
    }
  }
}

TEST(NewtonRows, OnSmallIntegersThePartitionIsExact) {
  for (int trial = 0; trial < 4000; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    const auto n = 1 + random() % 300;
    Row row{"integers", std::vector<double>(n), std::vector<double>(n - 1), {}};
    const bool steps = random() % 2 == 0;
    double level = 0;
    for (double& value : row.x) {
      if (random() % 8 == 0) level = static_cast<double>(random() % 9);
      value = steps ? level : static_cast<double>(random() % 9);
    }
    const double lam = static_cast<double>(1 + random() % 40) / 4;
    for (double& value : row.lam) value = lam;
    std::vector<Code> expected = exact_borders(row.x, row.lam);
    expected[0] = Code::plain;
    row.lam = {lam};
    const NewtonCall call(row, alone());
    ASSERT_TRUE(call.converged[0]) << trial;
    ASSERT_EQ(call.codes(), expected) << trial;
  }
}

TEST(NewtonRows, ATolIsMetByTheGapInFewerIterations) {
  Random random(base_seed());
  const Row row{"noise", families()[0].make(random, 4096), {10.0}, {}};
  std::int32_t before = 1;
  for (const double tol : {1e-1, 1e-2, 1e-3, 0.0}) {
    const NewtonCall call(row, {.tol = tol, .polish = false});
    EXPECT_TRUE(call.converged[0]);
    const double objective = reference::objective(row.x, edges_of(row), {}, call.y);
    EXPECT_LE(call.gap[0], std::max(tol, 1e-24) * objective) << tol;
    EXPECT_GE(call.iterations[0], before) << tol;
    before = call.iterations[0];
  }
  EXPECT_GT(before, NewtonCall(row, {.tol = 1e-1}).iterations[0]);
}

/// For any final iterate, the gap is an upper bound on the distance from the optimum.
TEST(NewtonRows, TheGapBoundsTheExcess) {
  for (int trial = 0; trial < 300; ++trial) {
    const Row row =
        random_row(base_seed() + static_cast<std::uint64_t>(trial), 300,
                   trial % 2 == 0 ? LamKind::uniform : LamKind::edges, WeightKind::none);
    const std::vector<double> edges = edges_of(row);
    const double best = reference::objective(row.x, edges, {}, reference::prox_tv1d(row.x, edges));
    for (const int iterations : {1, 2}) {
      const NewtonCall call(row, {.iterations = iterations, .polish = false});
      EXPECT_LE(call.iterations[0], iterations);
      const double excess = reference::objective(row.x, edges, {}, call.y) - best;
      ASSERT_GE(call.gap[0], excess - 1e-11 * best) << row.name;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
