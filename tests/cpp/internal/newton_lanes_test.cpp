// Newton rows that are solved side by side, one lane per row, have the same results as rows solved
// one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/tv1d_reference.h"
#include "support/newton.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

enum class LamShape : std::uint8_t { number, rows, edges };

/// Rows of all families and scales.
struct Batch {
  Batch(Random& random, LamShape lam_shape) : shape(lam_shape) {
    constexpr std::int64_t kLengths[] = {2, 3, 15, 16, 17, 31, 32, 33, 64, 100, 129, 300};
    rows = 1 + static_cast<std::int64_t>(random() % 20);
    n = kLengths[random() % std::size(kLengths)];
    lams = shape == LamShape::edges ? n - 1 : 1;
    for (std::int64_t r = 0; r < rows; ++r) {
      const Scale& scale = scales()[random() % scales().size()];
      const Family& family = families()[random() % families().size()];
      for (const double value : family.make(random, static_cast<int>(n))) {
        x.push_back(value * scale.factor + scale.offset);
      }
      for (std::int64_t e = 0; e < lams; ++e) {
        lam.push_back(scale.factor * static_cast<double>(1 + random() % 40) / 8);
      }
    }
  }

  [[nodiscard]] Row row(std::int64_t r) const {
    const auto x_first = x.begin() + r * n;
    const auto lam_first = lam.begin() + (shape == LamShape::number ? 0 : r * lams);
    return {"", {x_first, x_first + n}, {lam_first, lam_first + lams}, {}};
  }
  [[nodiscard]] NewtonCall solve(const Newton1d& newton, Mode mode) const {
    const bool is_number = shape == LamShape::number;
    const Lam of_call = is_number ? Lam(lam[0]) : Lam(view(lam.data(), {rows, lams}));
    return {x, rows, of_call, newton, {}, mode};
  }
  /// Rows with a start are not solved in lanes; a start that is not finite counts as none.
  [[nodiscard]] NewtonCall solve_one_by_one(Mode mode) const {
    const std::vector<double> start(static_cast<std::size_t>(rows * (n - 1)),
                                    std::numeric_limits<double>::quiet_NaN());
    return solve({.start = view(start.data(), {rows, n - 1})}, mode);
  }

  LamShape shape;
  std::int64_t rows;
  std::int64_t n;
  std::int64_t lams;  // of a row
  std::vector<double> x, lam;
};

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b, std::int64_t row, std::int64_t rows) {
  const std::int64_t size = static_cast<std::int64_t>(a.size()) / rows;
  return std::equal(a.begin() + row * size, a.begin() + (row + 1) * size, b.begin() + row * size);
}

struct Shape {
  const char* name;
  LamShape lam;
};

class NewtonLanes : public ::testing::TestWithParam<Shape> {};

TEST_P(NewtonLanes, GiveTheBitsOfSingleRows) {
  std::int64_t rows = 0;
  std::int64_t otherwise_tied = 0;
  for (int trial = 0; trial < 600; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    const Batch batch(random, GetParam().lam);
    const Mode mode = trial % 3 == 0 ? Mode::sharp : Mode::smooth;
    const NewtonCall lanes = batch.solve({}, mode);
    const NewtonCall single = batch.solve_one_by_one(mode);
    for (std::int64_t r = 0; r < batch.rows; ++r) {
      SCOPED_TRACE("trial " + std::to_string(trial) + " row " + std::to_string(r));
      ++rows;
      EXPECT_TRUE(same(lanes.converged, single.converged, r, batch.rows));
      if (!same(lanes.partition, single.partition, r, batch.rows)) {
        ++otherwise_tied;
        continue;
      }
      EXPECT_TRUE(same(lanes.y, single.y, r, batch.rows));
      EXPECT_TRUE(same(lanes.dual, single.dual, r, batch.rows));
      EXPECT_TRUE(same(lanes.gap, single.gap, r, batch.rows));
    }
  }
  // In thirds and tenths, ties are decided by rounding.
  EXPECT_LE(otherwise_tied, rows / 100);
}

TEST_P(NewtonLanes, EndWithinATol) {
  constexpr double kTol = 1e-3;
  for (int trial = 0; trial < 100; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    const Batch batch(random, GetParam().lam);
    const NewtonCall call = batch.solve({.tol = kTol, .polish = false}, Mode::smooth);
    EXPECT_EQ(std::ranges::count(call.converged, 1), batch.rows) << trial;
    for (std::int64_t r = 0; r < batch.rows; ++r) {
      const Row row = batch.row(r);
      const std::vector<double> edges = edges_of(row);
      const auto first = call.y.begin() + r * batch.n;
      const double found = reference::objective(row.x, edges, {}, {first, first + batch.n});
      const double best =
          reference::objective(row.x, edges, {}, reference::prox_tv1d(row.x, edges));
      EXPECT_LE(found - best, kTol * found + 1e-24 * std::pow(range_of(row.x), 2))
          << "trial " << trial << " row " << r;
    }
  }
}

constexpr Shape kShapes[] = {
    {"Number", LamShape::number}, {"Rows", LamShape::rows}, {"Edges", LamShape::edges}};
INSTANTIATE_TEST_SUITE_P(Lams, NewtonLanes, ::testing::ValuesIn(kShapes),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tautstring::testing
