// The derivative that the paper gives for its solver, by a factorization, equals the one that is
// read from the partition. Let L be the columns of the lower triangle of ones at which y jumps.
// Then y moves within the span of L, and the gradient of x is L (L^T L)^-1 L^T g.
#include <gtest/gtest.h>

#include <cmath>

#include "support/newton.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

using Matrix = std::vector<std::vector<double>>;

/// Columns of ones from each start of a segment to the end of the row.
Matrix steps_of(const std::vector<Code>& codes) {
  Matrix columns;
  for (std::size_t first = 0; first < codes.size(); ++first) {
    if (codes[first] == Code::continues) continue;
    std::vector<double>& column = columns.emplace_back(codes.size());
    for (std::size_t i = first; i < codes.size(); ++i) column[i] = 1;
  }
  return columns;
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Solves A s = b by Cholesky factorization.
std::vector<double> solve_by_cholesky(Matrix a, std::vector<double> b) {
  const std::size_t size = b.size();
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) a[j][j] -= a[j][k] * a[j][k];
    a[j][j] = std::sqrt(a[j][j]);
    for (std::size_t i = j + 1; i < size; ++i) {
      for (std::size_t k = 0; k < j; ++k) a[i][j] -= a[i][k] * a[j][k];
      a[i][j] /= a[j][j];
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = size; i-- > 0;) {
    for (std::size_t k = i + 1; k < size; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

/// L (L^T L)^-1 L^T g.
std::vector<double> project(const Matrix& columns, const std::vector<double>& g) {
  Matrix products(columns.size());
  std::vector<double> right;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (const std::vector<double>& column : columns) {
      products[i].push_back(inner(columns[i], column));
    }
    right.push_back(inner(columns[i], g));
  }
  const std::vector<double> heights = solve_by_cholesky(products, right);
  std::vector<double> result(g.size());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    for (std::size_t i = 0; i < g.size(); ++i) result[i] += heights[k] * columns[k][i];
  }
  return result;
}

TEST(NewtonBackward, EqualsThePapersByAFactorization) {
  Random random(base_seed());
  for (const int n : {1, 2, 7, 60, 150}) {
    for (const double lam : {0.05, 0.5, 3.0}) {
      const Row row{"", families()[0].make(random, n), {lam}, {}};
      const NewtonCall call(row, {.polish = false});
      ASSERT_TRUE(call.converged[0]);
      const std::vector<double> g = families()[0].make(random, n);
      std::vector<double> grad_x(row.x.size());
      double grad_lam = 0;
      const Status status =
          prox_tv1d_backward({.partition = call.partition}, view(g.data(), {n}),
                             {.x = view(grad_x.data(), {n}), .lam = view(&grad_lam, {1})});
      ASSERT_TRUE(status.ok()) << message(status);
      const std::vector<double> expected = project(steps_of(call.codes()), g);
      for (std::size_t i = 0; i < g.size(); ++i) {
        ASSERT_NEAR(grad_x[i], expected[i], 1e-12) << n << " samples, lam " << lam << " at " << i;
      }
      // y = projection of x - lam D^T sign(D y), so the gradient of lam is that of its last term.
      const std::vector<Code> codes = call.codes();
      double expected_lam = 0;
      for (std::size_t i = 1; i < codes.size(); ++i) {
        expected_lam += jump_sign(codes[i]) * (expected[i - 1] - expected[i]);
      }
      EXPECT_NEAR(grad_lam, expected_lam, 1e-12 * n) << n << " samples, lam " << lam;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
