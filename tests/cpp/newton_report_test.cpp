// What Newton's calls report is about what they return: the gap bounds the excess of the result as
// it is stored, in any dtype and mode, and `converged` says that this gap is within the tolerance.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "reference/tv1d_reference.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr DType kDTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// A call on rows of one length.
struct Call {
  Call(DType dtype, const std::vector<double>& samples, std::int64_t row_count, const Lam& lam,
       Newton1d newton, Mode result_mode, const std::vector<double>& start = {})
      : rows(row_count),
        n(static_cast<std::int64_t>(samples.size()) / rows),
        mode(result_mode),
        x(Array(dtype, samples).values()),
        dual(x.size() - static_cast<std::size_t>(rows)),
        gap(static_cast<std::size_t>(rows)),
        converged(gap.size()) {
    Array x_array(dtype, samples), y_array(dtype, x.size());
    if (!start.empty()) newton.start = view(start.data(), {rows, n - 1});
    const Status status =
        prox_tv1d_newton({.x = x_array.view({rows, n}), .lam = lam, .mode = mode}, newton,
                         {.y = y_array.view({rows, n}),
                          .dual = view(dual.data(), {rows, n - 1}),
                          .gap = gap,
                          .converged = converged});
    EXPECT_TRUE(status.ok()) << message(status);
    y = y_array.values();
  }

  [[nodiscard]] std::vector<double> samples(std::int64_t row) const {
    return {x.begin() + row * n, x.begin() + (row + 1) * n};
  }
  /// The smooth row that the result stands for.
  [[nodiscard]] std::vector<double> smooth(std::int64_t row) const {
    std::vector<double> values(y.begin() + row * n, y.begin() + (row + 1) * n);
    if (mode == Mode::smooth) return values;
    const std::vector<double> own = samples(row);
    for (std::size_t i = 0; i < own.size(); ++i) values[i] = own[i] - (values[i] - own[i]);
    return values;
  }

  std::int64_t rows, n;
  Mode mode;
  std::vector<double> x, y, dual, gap;
  std::vector<std::uint8_t> converged;
};

std::vector<double> draw(Random& random, std::int64_t count, double from, double to) {
  std::uniform_real_distribution<double> uniform(from, to);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = uniform(random);
  return values;
}

/// Small rows of few levels have many edges that are held at the wrong bound on the way, and starts
/// more so.
TEST(NewtonReport, ConvergedRowsAreWithinTheirTolerance) {
  Random random(base_seed());
  int converged = 0;
  for (int trial = 0; trial < 30'000; ++trial) {
    const std::int64_t rows = 1 + static_cast<std::int64_t>(random() % 9);
    const std::int64_t n = 2 + static_cast<std::int64_t>(random() % 14);
    std::vector<double> x = draw(random, rows * n, -1, 1);
    if (random() % 2 == 0) {
      for (double& value : x) value = std::round(value * 4);
    }
    const double size = std::pow(10.0, std::uniform_real_distribution<double>(-2, 0.5)(random));
    const std::vector<double> lam = draw(random, n - 1, 0.1 * size, size);
    const bool has_start = random() % 2 == 0;
    const std::vector<double> start =
        has_start ? draw(random, rows * (n - 1), -2 * size, 2 * size) : std::vector<double>{};
    const Lam of_call = random() % 2 == 0 ? Lam(size) : Lam(view(lam.data(), {1, n - 1}));
    const Newton1d newton = {
        .tol = std::pow(10.0, -2 - static_cast<double>(random() % 5)),
        .line_search = random() % 2 == 0 ? LineSearch::halving : LineSearch::interpolation,
        .polish = random() % 2 == 0};
    const Call call(DType::float64, x, rows, of_call, newton, Mode::smooth, start);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto row = static_cast<std::size_t>(r);
      if (call.converged[row] == 0) continue;
      ++converged;
      const std::vector<double> edges =
          of_call.array.data == nullptr ? std::vector<double>(lam.size(), size) : lam;
      const double objective = reference::objective(call.samples(r), edges, {}, call.smooth(r));
      ASSERT_LE(call.gap[row], newton.tol * objective * (1 + 1e-12))
          << "trial " << trial << ", row " << r << (has_start ? ", with a start" : "");
    }
  }
  EXPECT_GT(converged, 100'000);  // nearly all of them
}

class NewtonReports : public ::testing::TestWithParam<Mode> {};

TEST_P(NewtonReports, AreOfTheResultAsItIsReturned) {
  Random random(base_seed());
  for (int trial = 0; trial < 3000; ++trial) {
    const DType dtype = kDTypes[trial % 4];
    const std::int64_t rows = trial % 3 == 0 ? 1 : 11;
    const std::int64_t n = 2 + static_cast<std::int64_t>(random() % 60);
    const double offset = trial % 5 == 0 ? 100 : trial % 5 == 1 ? -3 : 0;
    const std::vector<double> x = draw(random, rows * n, offset, offset + 1);
    const double lam = std::pow(10.0, std::uniform_real_distribution<double>(-2, 0)(random));
    const Newton1d newton = {.iterations = trial % 7 == 0 ? 2 : 100,
                             .tol = random() % 2 == 0 ? 1e-4 : 0,
                             .polish = random() % 2 == 0};
    const Call call(dtype, x, rows, lam, newton, GetParam());
    const std::vector<double> edges(static_cast<std::size_t>(n - 1), lam);
    for (std::int64_t r = 0; r < rows; ++r) {
      SCOPED_TRACE("trial " + std::to_string(trial) + ", " + dtype_name(dtype));
      const auto row = static_cast<std::size_t>(r);
      const std::vector<double> samples = call.samples(r);
      const double objective = reference::objective(samples, edges, {}, call.smooth(r));
      const double best =
          reference::objective(samples, edges, {}, reference::prox_tv1d(samples, edges));
      ASSERT_GE(call.gap[row], objective - best - 1e-13 * objective);
      if (newton.tol > 0 && call.converged[row] != 0) {
        ASSERT_LE(call.gap[row], newton.tol * objective * (1 + 1e-9));
      }
      // By a dual that is the solution's it is no more than that, but for the dual's rounding.
      if (newton.tol == 0 && call.converged[row] != 0) {
        ASSERT_LE(call.gap[row], (objective - best) * (1 + 1e-6) + 1e-9 * (lam + 1));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, NewtonReports, ::testing::Values(Mode::smooth, Mode::sharp),
                         [](const auto& test) {
                           return test.param == Mode::smooth ? "Smooth" : "Sharp";
                         });

TEST(NewtonReport, ADtypeThatCannotHoldTheToleranceHasNotConverged) {
  Random random(base_seed());
  const std::vector<double> x = draw(random, std::int64_t{8} * 64, 100, 101);
  const Newton1d newton = {.tol = 1e-4};
  const Call half(DType::float16, x, 8, 0.01, newton, Mode::smooth);
  const Call wide(DType::float64, half.x, 8, 0.01, newton, Mode::smooth);
  for (std::size_t r = 0; r < 8; ++r) {
    EXPECT_FALSE(half.converged[r]);
    EXPECT_TRUE(wide.converged[r]);
    EXPECT_GT(half.gap[r], 1e3 * wide.gap[r]);
  }
}

TEST(NewtonReport, AResultThatOverflowsHasNoBound) {
  const std::vector<double> x = {60000, -60000, 60000, -60000, 60000};
  const Call call(DType::float16, x, 1, 20000.0, {.tol = 1e-3}, Mode::sharp);
  EXPECT_TRUE(std::isinf(call.y[1]));
  EXPECT_EQ(call.gap[0], std::numeric_limits<double>::infinity());
  EXPECT_FALSE(call.converged[0]);
}

}  // namespace
}  // namespace tautstring::testing
