// One Newton iteration: it aims at the solution of the tridiagonal system of its free edges and
// moves towards it as far as the line search says.
#include "step/newton_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "support/rows.h"

namespace tautstring::testing {
namespace {

/// Memory for a row, with a guard after each array.
struct NewtonMemory {
  explicit NewtonMemory(const Row& row)
      : n(static_cast<std::int32_t>(row.x.size())),
        x(row.x),
        lam(edges_of(row)),
        u(row.x.size() + 1),
        next(u),
        target(u),
        coarse_x(static_cast<std::size_t>(detail::newton_coarse_samples(n)) + 1, kGuard),
        coarse_lam(coarse_x),
        fixed(row.x.size() + 1, -1) {
    lam.push_back(0);
    for (std::vector<double>* guarded : {&x, &lam, &u, &next, &target}) guarded->push_back(kGuard);
  }
  [[nodiscard]] detail::NewtonArrays arrays() {
    return {x.data(),      lam.data(),   u.data(),        next.data(),
            target.data(), fixed.data(), coarse_x.data(), coarse_lam.data()};
  }
  [[nodiscard]] bool is_guarded() const {
    return fixed.back() == -1 &&
           std::ranges::all_of(std::array{&x, &lam, &u, &next, &target, &coarse_x, &coarse_lam},
                               [](const auto* array) { return array->back() == kGuard; });
  }

  /// The result of this number of iterations; the last of them makes no step.
  [[nodiscard]] const std::vector<double>& u_after(int iterations) const {
    return iterations % 2 == 1 ? next : u;  // they are swapped, for the first time at the start
  }

  static constexpr double kGuard = -88;
  std::int32_t n;
  std::vector<double> x, lam, u, next, target, coarse_x, coarse_lam;
  std::vector<std::int32_t> fixed;
};

/// u - H_FF^-1 g_F by elimination; fixed edges keep their values.
std::vector<double> newton_target(const std::vector<double>& x, const std::vector<double>& lam,
                                  const std::vector<double>& u) {
  const std::size_t edges = lam.size();
  std::vector<double> g(edges), ratio(edges), d(edges);
  std::vector<bool> is_free(edges);
  const auto at = [&](std::size_t i, int step) {
    const std::size_t k = i + static_cast<std::size_t>(step);
    return k < edges ? u[k] : 0;  // also next to the ends: -1 is not an index
  };
  for (std::size_t i = 0; i < edges; ++i) {
    g[i] = (x[i + 1] - at(i, 1) + u[i]) - (x[i] - u[i] + at(i, -1));
    is_free[i] = !(u[i] >= lam[i] && g[i] < 0) && !(u[i] <= -lam[i] && g[i] > 0);
  }
  for (std::size_t i = 0; i < edges; ++i) {
    if (!is_free[i]) continue;
    const bool joined = i > 0 && is_free[i - 1];
    ratio[i] = 1 / (2 - (joined ? ratio[i - 1] : 0));
    d[i] = (g[i] + (joined ? d[i - 1] : 0)) * ratio[i];
  }
  for (std::size_t i = edges; i-- > 0;) {
    if (is_free[i] && i + 1 < edges) d[i] += ratio[i] * d[i + 1];
  }
  for (std::size_t i = 0; i < edges; ++i) d[i] = u[i] - d[i];
  return d;
}

TEST(NewtonRow, AimsAtTheSolutionOfTheTridiagonalSystem) {
  for (int trial = 0; trial < 300; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    const auto n = 2 + static_cast<int>(random() % 60);
    Row row{"",
            families()[0].make(random, n),
            std::vector<double>(static_cast<std::size_t>(n - 1)),
            {}};
    std::vector<double> start;
    for (double& lam : row.lam) {
      lam = std::uniform_real_distribution<double>(0.1, 2)(random);
      // One third each at the lower bound, at the upper bound, and between them.
      const int side = static_cast<int>(random() % 3) - 1;
      start.push_back(side == 0 ? std::uniform_real_distribution<double>(-lam, lam)(random)
                                : side * lam);
    }
    NewtonMemory memory(row);
    std::copy(start.begin(), start.end(), memory.target.begin() + 1);
    detail::NewtonRow newton(memory.arrays(), n, range_of(row.x), {.iterations = 1});
    newton.solve(true);
    const std::vector<double> expected = newton_target(row.x, row.lam, start);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      ASSERT_NEAR(memory.target[e + 1], expected[e], 1e-11) << trial << " at " << e;
    }
    EXPECT_TRUE(memory.is_guarded());
  }
}

/// u and its step, from one edge before the row to one after it.
struct Step {
  const Row& row;
  std::vector<double> u;
  std::vector<double> target;

  [[nodiscard]] std::vector<double> at(double length) const {
    std::vector<double> moved = u;
    for (std::size_t k = 1; k < row.x.size(); ++k) {
      const double lam = row.lam.front();
      moved[k] = std::clamp(u[k] + length * (target[k] - u[k]), -lam, lam);
    }
    return moved;
  }
  [[nodiscard]] long double objective(const std::vector<double>& v) const {
    long double sum = 0;
    for (std::size_t j = 0; j < row.x.size(); ++j) {
      const long double y = static_cast<long double>(row.x[j]) - v[j + 1] + v[j];
      sum += y * y / 2;
    }
    return sum;
  }
  /// The slope of the objective at u, in the direction of v.
  [[nodiscard]] long double slope(const std::vector<double>& v) const {
    long double sum = 0;
    for (std::size_t k = 1; k < row.x.size(); ++k) {
      const long double right = static_cast<long double>(row.x[k]) - u[k + 1] + u[k];
      const long double left = static_cast<long double>(row.x[k - 1]) - u[k] + u[k - 1];
      sum += (right - left) * (static_cast<long double>(v[k]) - u[k]);
    }
    return sum;
  }
  [[nodiscard]] long double change(double length) const {
    return objective(at(length)) - objective(u);
  }
  [[nodiscard]] bool is_enough(double length) const {
    return change(length) <= 1e-4L * slope(at(length));
  }
  [[nodiscard]] double shorter(double length, bool halves) const {
    if (halves) return length / 2;
    const long double s = slope(target);
    const long double curvature = (change(length) - s * length) / (length * length);
    return std::clamp(static_cast<double>(-s / (2 * curvature)), length / 10, length / 2);
  }
};

TEST(NewtonRow, GoesAsFarAsTheLineSearchSays) {
  for (const bool halves : {false, true}) {
    int shortened = 0;
    for (int trial = 0; trial < 12; ++trial) {
      Random random(base_seed() + static_cast<std::uint64_t>(trial));
      const Row row{"", families()[0].make(random, 2000), {10.0}, {}};
      const auto run = [&](int iterations) {
        NewtonMemory memory(row);
        detail::NewtonRow newton(memory.arrays(), memory.n, range_of(row.x),
                                 {.iterations = iterations, .halves = halves});
        newton.solve(true);  // from 0
        EXPECT_EQ(newton.iterations(), iterations);
        return memory;
      };
      for (int iterations = 1; iterations < 8; ++iterations) {
        const NewtonMemory memory = run(iterations);
        const Step step = {row, memory.u_after(iterations), memory.target};
        double length = 1;
        while (!step.is_enough(length)) length = step.shorter(length, halves);
        shortened += length < 1 ? 1 : 0;
        const std::vector<double> expected = step.at(length);
        const std::vector<double> found = run(iterations + 1).u_after(iterations + 1);
        for (std::size_t k = 0; k <= row.x.size(); ++k) {
          ASSERT_NEAR(found[k], expected[k], 1e-9) << "length " << length << " at " << k;
        }
      }
    }
    EXPECT_GT(shortened, 0);
  }
}

/// With bounds so small that their products are 0, no step improves anything: rows end and report
/// it.
TEST(NewtonRow, EndsWhereNoStepIsBetter) {
  int ended = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    Random random(base_seed() + static_cast<std::uint64_t>(trial));
    const Row row{"", families()[0].make(random, 100), {5e-324}, {}};
    NewtonMemory memory(row);
    detail::NewtonRow newton(memory.arrays(), memory.n, range_of(row.x),
                             {.iterations = 100, .halves = trial % 2 == 0});
    ended += newton.solve(false) ? 0 : 1;
    EXPECT_LT(newton.iterations(), 10) << trial;
  }
  EXPECT_GT(ended, 10);
}

TEST(NewtonRow, KeepsToItsMemory) {
  for (int n = 1; n <= 300; ++n) {
    Random random(base_seed());
    const Row row{"", families()[0].make(random, n), {0.5}, {}};
    NewtonMemory memory(row);
    detail::NewtonRow newton(memory.arrays(), n, range_of(row.x), {.iterations = 100});
    EXPECT_TRUE(newton.solve(false)) << n;
    std::vector<Code> codes(row.x.size() + 1, Code::up);
    newton.store_codes(codes.data());
    EXPECT_EQ(codes.back(), Code::up);
    EXPECT_TRUE(memory.is_guarded()) << n;
  }
}

}  // namespace
}  // namespace tautstring::testing
