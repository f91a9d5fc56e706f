#include "support/newton.h"

#include <gtest/gtest.h>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {

NewtonCall::NewtonCall(const Row& row, const Newton1d& newton, Mode mode)
    : NewtonCall(row.x, 1, lam_of(row), newton, {}, mode) {}

NewtonCall::NewtonCall(const std::vector<double>& x, std::int64_t rows_, const Lam& lam,
                       const Newton1d& newton, const Context& context, Mode mode)
    : rows(rows_),
      n(static_cast<std::int64_t>(x.size()) / rows_),
      y(x.size()),
      dual(x.size() - static_cast<std::size_t>(rows_)),
      gap(static_cast<std::size_t>(rows_)),
      iterations(gap.size()),
      converged(gap.size()),
      partition(static_cast<std::size_t>(rows_ * partition_words(n))) {
  const Status status =
      prox_tv1d_newton({.x = view(x.data(), {rows, n}), .lam = lam, .mode = mode}, newton,
                       {.y = view(y.data(), {rows, n}),
                        .partition = partition,
                        .dual = view(dual.data(), {rows, n - 1}),
                        .gap = gap,
                        .iterations = iterations,
                        .converged = converged},
                       context);
  EXPECT_TRUE(status.ok()) << message(status);
}

std::vector<Code> NewtonCall::codes() const {
  std::vector<Code> codes;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint32_t* words = partition.data() + r * partition_words(n);
    for (std::int64_t i = 0; i < n; ++i) codes.push_back(code_at(words, i));
  }
  return codes;
}

ConstView NewtonCall::dual_view() const {
  return view(dual.data(), {rows, n - 1});
}

double certificate_of(const Row& row, const std::vector<double>& y) {
  const auto n = static_cast<std::int64_t>(y.size());
  double certificate = 0;
  const Status status = certificate1d({.x = view(row.x.data(), {n}), .lam = lam_of(row)},
                                      view(y.data(), {n}), view(&certificate, {1}));
  EXPECT_TRUE(status.ok()) << message(status);
  return certificate;
}

}  // namespace tautstring::testing
