// Linear time by counting, not by the clock: elements read, and points pushed to and popped from
// the string's chains, in the solver that is shipped.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "cpu/parallel.h"
#include "step/row/row_solver.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

/// Each element is read at most four times (size, running sums, values twice),
/// pushed twice, and popped at most twice.
constexpr double kStepsAnElement = 8;

std::int64_t count_steps(const std::vector<double>& x, double lam, bool weighted, bool per_edge) {
  const auto n = static_cast<std::int32_t>(x.size());
  const auto bytes = detail::row_scratch_bytes(n, weighted);
  const std::unique_ptr<std::byte, decltype(&std::free)> block(
      static_cast<std::byte*>(std::aligned_alloc(64, bytes)), std::free);
  detail::Scratch scratch(block.get());
  const detail::RowScratch row(scratch, n, weighted);
  std::copy(x.begin(), x.end(), row.x);
  if (weighted) std::fill(row.weight, row.weight + n, 0.5);
  if (per_edge) std::fill(row.lam, row.lam + n, lam);
  detail::RowSolver solver(row);
  solver.solve({.n = n, .weighted = weighted, .per_edge = per_edge, .lam = lam});
  return solver.steps();
}

class LinearTime : public ::testing::TestWithParam<Family> {};

TEST_P(LinearTime, StepsAnElementStayBelowTheBoundWhileNDoubles) {
  for (const double lam : {1e-3, 1.0, 50.0, 2000.0}) {
    for (int n = 1000; n <= 1'024'000; n *= 2) {
      Random random(base_seed());
      std::vector<double> x = GetParam().make(random, n);
      // A ramp of slope 1 per element, as in the known worst cases of other solvers.
      for (double& value : x) value *= n;
      for (const auto& [weighted, per_edge] : {std::pair{false, false}, std::pair{true, true}}) {
        if (weighted && n > 64000) continue;
        const auto steps = static_cast<double>(count_steps(x, lam, weighted, per_edge));
        ASSERT_GE(steps, 6.0 * n);  // the count counts: reads and pushes cannot be fewer
        ASSERT_LE(steps, kStepsAnElement * n) << "n=" << n << " lam=" << lam;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, LinearTime, ::testing::ValuesIn(worst_families()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tautstring::testing
