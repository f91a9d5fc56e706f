// If the backend cannot return errors about values, a bad value makes its row NaN, with a partition
// of one segment; the bits of its neighbours do not change.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/newton.h"
#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kRows = 5;
constexpr std::int64_t kLength = 40;  // three words per row
constexpr std::int64_t kBad = 2;      // the row
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A batch with one lam per edge and data weights.
struct Batch {
  Batch() : x(kRows * kLength), lam(kRows * (kLength - 1), 0.5), weight(kRows * kLength, 1.0) {
    Random random(base_seed());
    for (double& value : x) value = std::normal_distribution<double>()(random);
  }
  [[nodiscard]] Problem1d problem() const {
    return {.x = view(x.data(), {kRows, kLength}),
            .lam = view(lam.data(), {kRows, kLength - 1}),
            .weight = weighted ? view(weight.data(), {kRows, kLength}) : ConstView{}};
  }
  std::vector<double> x, lam, weight;
  bool weighted = true;
};

/// All results of a batch, one row of values for each of its rows.
struct Results {
  explicit Results(const Batch& batch)
      : y(batch.x.size()),
        grad_x(batch.x.size()),
        grad_lam(kRows),
        grad_weight(batch.x.size()),
        tangent(batch.x.size()),
        certificate(kRows),
        largest(kRows),
        partition(static_cast<std::size_t>(kRows * partition_words(kLength))) {
    const View rows = view(y.data(), {kRows, kLength});
    check(prox_tv1d(batch.problem(), rows, partition));
    check(certificate1d(batch.problem(), rows, view(certificate.data(), {kRows, 1})));
    check(lam_max(batch.problem().x, view(largest.data(), {kRows, 1}), batch.problem().weight));
    Solved1d solved = {.partition = partition};
    Gradients1d gradients = {.x = view(grad_x.data(), {kRows, kLength}),
                             .lam = view(grad_lam.data(), {kRows, 1})};
    if (batch.weighted) {
      solved.x = batch.problem().x;
      solved.y = rows;
      solved.weight = batch.problem().weight;
      gradients.weight = view(grad_weight.data(), {kRows, kLength});
    }
    check(prox_tv1d_backward(solved, batch.problem().x, gradients));
    check(prox_tv1d_jvp(solved, {.x = batch.problem().x}, view(tangent.data(), {kRows, kLength})));
  }

  std::vector<double> y, grad_x, grad_lam, grad_weight, tangent, certificate, largest;
  std::vector<std::uint32_t> partition;
};

template <class T>
std::vector<T> row_of(const std::vector<T>& all, std::int64_t row) {
  const auto size = static_cast<std::int64_t>(all.size()) / kRows;
  return {all.begin() + row * size, all.begin() + (row + 1) * size};
}

void expect_nan(const std::vector<double>& values) {
  for (const double value : row_of(values, kBad)) EXPECT_TRUE(std::isnan(value)) << value;
}

template <class T>
void expect_same_neighbours(const std::vector<T>& values, const std::vector<T>& expected) {
  for (std::int64_t row = 0; row < kRows; ++row) {
    if (row == kBad) continue;
    EXPECT_EQ(row_of(values, row), row_of(expected, row)) << row;
  }
}

/// Puts bad values into a batch and checks this for the forward calls.
template <class Spoil>
Results expect_refused(Batch batch, Spoil spoil) {
  const Results good(batch);
  spoil(batch);
  Results bad(batch);
  expect_nan(bad.y);
  expect_nan(bad.certificate);
  EXPECT_EQ(row_of(bad.partition, kBad),
            (std::vector<std::uint32_t>{static_cast<std::uint32_t>(Code::plain), 0, 0}));
  expect_same_neighbours(bad.y, good.y);
  expect_same_neighbours(bad.partition, good.partition);
  expect_same_neighbours(bad.certificate, good.certificate);
  expect_same_neighbours(bad.largest, good.largest);
  expect_same_neighbours(bad.grad_x, good.grad_x);
  expect_same_neighbours(bad.grad_lam, good.grad_lam);
  expect_same_neighbours(bad.grad_weight, good.grad_weight);
  expect_same_neighbours(bad.tangent, good.tangent);
  return bad;
}

TEST(RefusedRows, HaveANegativeOrNanLam) {
  for (const double value : {-1.0, -1e-300, -kInfinity, kNan}) {
    for (const std::int64_t edge : {std::int64_t{0}, kLength / 2, kLength - 2}) {
      for (const bool weighted : {false, true}) {
        Batch batch;
        batch.weighted = weighted;
        expect_refused(batch, [&](Batch& b) {
          b.lam[static_cast<std::size_t>(kBad * (kLength - 1) + edge)] = value;
        });
      }
    }
  }
}

TEST(RefusedRows, HaveABadLamForAllOfTheRow) {
  const Batch batch;
  for (const bool weighted : {false, true}) {
    for (const double value : {-1.0, kNan}) {
      std::vector<double> lam(kRows, 0.5), y(batch.x.size());
      lam[kBad] = value;
      Problem1d problem = batch.problem();
      problem.lam = view(lam.data(), {kRows, 1});
      if (!weighted) problem.weight = {};
      check(prox_tv1d(problem, view(y.data(), {kRows, kLength})));
      expect_nan(y);
      for (std::int64_t row = 0; row < kRows; ++row) {
        EXPECT_EQ(std::isfinite(row_of(y, row).front()), row != kBad);
      }
    }
  }
}

TEST(NewtonRefusedRows, HaveANegativeOrNanLam) {
  Batch batch;
  const NewtonCall good(batch.x, kRows, batch.problem().lam);
  for (const double value : {-1.0, kNan}) {
    batch.lam[static_cast<std::size_t>(kBad * (kLength - 1) + 5)] = value;
    const NewtonCall bad(batch.x, kRows, batch.problem().lam);
    for (const auto values : {&NewtonCall::y, &NewtonCall::dual, &NewtonCall::gap}) {
      expect_nan(bad.*values);
      expect_same_neighbours(bad.*values, good.*values);
    }
    EXPECT_EQ(row_of(bad.partition, kBad),
              (std::vector<std::uint32_t>{static_cast<std::uint32_t>(Code::plain), 0, 0}));
    expect_same_neighbours(bad.partition, good.partition);
    EXPECT_EQ(bad.iterations[kBad], 0);
    expect_same_neighbours(bad.iterations, good.iterations);
    EXPECT_EQ(bad.converged[kBad], 0);
    expect_same_neighbours(bad.converged, good.converged);
  }
}

TEST(RefusedRows, HaveABadWeightAndItsDerivativesAreNanToo) {
  for (const double value : {-1.0, kNan, kInfinity, 0x1p-101, 0x1p101}) {
    const Results bad = expect_refused(
        Batch(), [&](Batch& b) { b.weight[static_cast<std::size_t>(kBad * kLength + 7)] = value; });
    expect_nan(bad.largest);
    expect_nan(bad.grad_x);
    expect_nan(bad.grad_lam);
    expect_nan(bad.grad_weight);
    expect_nan(bad.tangent);
  }
}

TEST(RefusedRows, AreNanEvenWhereLamIsZero) {
  Batch batch;
  std::fill(batch.lam.begin(), batch.lam.end(), 0.0);
  expect_refused(batch, [](Batch& b) { b.weight[kBad * kLength] = -1; });
}

TEST(RefusedRows, DoNotComeFromANumber) {
  Batch batch;
  std::vector<double> y(batch.x.size(), -7);
  Problem1d problem = batch.problem();
  for (const double lam : {-1.0, kNan}) {
    problem.lam = lam;
    const Status status = prox_tv1d(problem, view(y.data(), {kRows, kLength}));
    EXPECT_STREQ(status.argument, "lam") << message(status);
    EXPECT_EQ(y, std::vector<double>(batch.x.size(), -7));
  }
}

}  // namespace
}  // namespace tautstring::testing
