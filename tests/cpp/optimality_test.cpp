// The certificate proves that the solution is optimal, and another algorithm agrees with it, on
// thousands of random and adversarial rows.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/tv1d_reference.h"
#include "support/rows.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

struct Kind {
  const char* name;
  LamKind lam;
  WeightKind weight;
};

class Optimality : public ::testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    RecordProperty("seed", std::to_string(base_seed()));
    std::printf("base seed %llu\n", static_cast<unsigned long long>(base_seed()));
  }
  template <class Check>
  void for_each_row(int count, int longest, Check check) {
    for (int i = 0; i < count; ++i) {
      const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), longest,
                                 GetParam().lam, GetParam().weight);
      SCOPED_TRACE(row.name);
      check(row);
      if (HasFailure()) return;
    }
  }
};

TEST_P(Optimality, CertificateIsBelowTolerance) {
  for_each_row(3000, 200, [](const Row& row) {
    EXPECT_LE(Solution(row).certificate, certificate_tolerance(DType::float64, row));
  });
}

TEST_P(Optimality, LongRowsAreCertifiedToo) {
  for_each_row(40, 4096, [](const Row& row) {
    EXPECT_LE(Solution(row).certificate, certificate_tolerance(DType::float64, row));
  });
}

/// Kinds without missing samples, whose solution is unique (MissingSamples has the others).
class UniqueSolution : public Optimality {};

TEST_P(UniqueSolution, AgreesWithReference) {
  for_each_row(3000, 60, [](const Row& row) {
    const Solution solution(row);
    const std::vector<double> expected = reference::prox_tv1d(row.x, edges_of(row), row.weight);
    for (std::size_t i = 0; i < row.x.size(); ++i) {
      ASSERT_NEAR(solution.y[i], expected[i], value_tolerance(DType::float64, row)) << "at " << i;
    }
  });
}

TEST_P(Optimality, ObjectiveIsNotAboveReference) {
  for_each_row(1000, 60, [](const Row& row) {
    const std::vector<double> edges = edges_of(row);
    const double best = reference::objective(row.x, edges, row.weight,
                                             reference::prox_tv1d(row.x, edges, row.weight));
    const double ours = reference::objective(row.x, edges, row.weight, Solution(row).y);
    EXPECT_LE(ours,
              best + 1e-12 * std::abs(best) + 1e-9 * unit_in_last_place(DType::float64, row.x[0]));
  });
}

TEST_P(Optimality, Float32IsWithinToleranceOfFloat64) {
  for_each_row(1500, 300, [](const Row& exact) {
    const Row row = rounded(exact, DType::float32);
    const Solution narrow(row, DType::float32);
    const Solution wide(row, DType::float64);
    for (std::size_t i = 0; i < row.x.size(); ++i) {
      ASSERT_NEAR(narrow.y[i], wide.y[i], value_tolerance(DType::float32, row)) << "at " << i;
    }
  });
}

constexpr Kind kKinds[] = {
    {"Uniform", LamKind::uniform, WeightKind::none},
    {"Edges", LamKind::edges, WeightKind::none},
    {"ExtremeEdges", LamKind::edges_with_zero_and_infinity, WeightKind::none},
    {"Weights", LamKind::uniform, WeightKind::positive},
    {"WeightsAndEdges", LamKind::edges, WeightKind::positive},
    {"Missing", LamKind::uniform, WeightKind::with_missing},
    {"MissingAndEdges", LamKind::edges_with_zero_and_infinity, WeightKind::with_missing},
};
const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Kinds, Optimality, ::testing::ValuesIn(kKinds), kName);
INSTANTIATE_TEST_SUITE_P(Kinds, UniqueSolution, ::testing::ValuesIn(kKinds, kKinds + 5), kName);

TEST(OptimalRows, EndPhaseTrapOfTheDirectMethod) {
  // Rounding makes textbook versions of the direct method read past the end of this row.
  const Row row = {"trap", {1.0 / 3, -2.0 / 3, -1, -1.0 / 3, -5.0 / 3}, {0.5}, {}};
  const std::vector<double> expected = {-1.0 / 6, -2.0 / 3, -2.0 / 3, -2.0 / 3, -7.0 / 6};
  const Solution solution(row);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(solution.y[i], expected[i], 1e-15);
}

TEST(OptimalRows, AllShortRowsOnARationalGrid) {
  // Every row of 1 to 5 values in {0, 1/3, 2/3}: all possible ties.
  for (int n = 1; n <= 5; ++n) {
    const int count = static_cast<int>(std::pow(3, n));
    for (int number = 0; number < count; ++number) {
      Row row{"grid", {}, {}, {}};
      for (int i = 0, digits = number; i < n; ++i, digits /= 3) row.x.push_back((digits % 3) / 3.0);
      for (const double lam : {1.0 / 12, 1.0 / 6, 1.0 / 3, 0.5, 2.0 / 3, 1.0}) {
        row.lam = {lam};
        const Solution solution(row);
        const std::vector<double> expected = reference::prox_tv1d(row.x, edges_of(row));
        for (std::size_t i = 0; i < row.x.size(); ++i) {
          ASSERT_NEAR(solution.y[i], expected[i], 1e-14) << number << " n=" << n << " lam=" << lam;
        }
        ASSERT_LE(solution.certificate, 1e-14);
      }
    }
  }
}

TEST(OptimalRows, AMillionSamplesAreCertified) {
  for (const Family& family : worst_families()) {
    Random random(base_seed());
    Row row{family.name, family.make(random, 1'000'000), {3.0}, {}};
    SCOPED_TRACE(row.name);
    EXPECT_LE(Solution(row).certificate, certificate_tolerance(DType::float64, row));
  }
}

TEST(OptimalRows, Float32HoldsItsPromiseForAMillionSamples) {
  for (const Family& family : worst_families()) {
    for (const double lam : {1.0, 1e4}) {
      Random random(base_seed());
      const Row row =
          rounded({family.name, family.make(random, 1'000'000), {lam}, {}}, DType::float32);
      SCOPED_TRACE(row.name);
      const Solution narrow(row, DType::float32);
      const Solution wide(row, DType::float64);
      const double fraction = 4e-6 * range_of(row.x);
      for (std::size_t i = 0; i < row.x.size(); ++i) {
        const double tolerance = fraction + unit_in_last_place(DType::float32, wide.y[i]);
        ASSERT_NEAR(narrow.y[i], wide.y[i], tolerance) << "lam " << lam << " at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
