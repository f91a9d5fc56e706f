// An iteration of Newton's aims at the solution of the tridiagonal system of its free edges.
#include "step/newton_row.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/rows.h"

namespace tautline::testing {
namespace {

/// Memory for a row, with a guard behind each array.
struct NewtonMemory {
  explicit NewtonMemory(const Row& row)
      : n(static_cast<std::int32_t>(row.x.size())),
        x(row.x),
        lam(edges_of(row)),
        u(row.x.size() + 2),
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

  static constexpr double kGuard = -88;
  std::int32_t n;
  std::vector<double> x, lam, u, next, target, coarse_x, coarse_lam;
  std::vector<std::int32_t> fixed;
};

/// u - H_FF^-1 g_F by elimination, fixed edges as they are.
std::vector<double> newton_target(const std::vector<double>& x, const std::vector<double>& lam,
                                  const std::vector<double>& u) {
  const std::size_t edges = lam.size();
  std::vector<double> g(edges), ratio(edges), d(edges);
  std::vector<bool> is_free(edges);
  const auto at = [&](std::size_t i, int step) {
    const std::size_t k = i + static_cast<std::size_t>(step);
    return k < edges ? u[k] : 0;  // beside the ends, too: -1 is no index
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
      // A third each at a bound, at the other, between them.
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
}  // namespace tautline::testing
