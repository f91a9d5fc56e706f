// Fuzzes the Newton solver. On rational grids its result is certified, agrees with the direct
// solver's, and its objective exceeds the optimum by no more than its gap. On rows of arbitrary
// bits the report is consistent: counts within their limits, a gap that is not negative, dual
// variables within their bounds.
#include <fuzzer/FuzzedDataProvider.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/tv1d_reference.h"
#include "support/require.h"
#include "support/row.h"
#include "support/values.h"

namespace {

using tautstring::view;
using tautstring::fuzz::require;
using tautstring::fuzz::Row;
using tautstring::fuzz::Values;

tautstring::Newton1d settings(FuzzedDataProvider& data) {
  constexpr double kTols[] = {0, 1e-12, 1e-4};
  return {.iterations = data.ConsumeIntegralInRange(1, 100),
          .tol = data.PickValueInArray(kTols),
          .line_search = data.ConsumeBool() ? tautstring::LineSearch::halving
                                            : tautstring::LineSearch::interpolation,
          .polish = data.ConsumeBool()};
}

/// A call with all of its results.
struct Call {
  Call(const Row& row, const tautstring::Newton1d& newton)
      : y(row.x.size()),
        dual(row.x.size() - 1),
        partition(static_cast<std::size_t>(tautstring::partition_words(row.n))) {
    status = tautstring::prox_tv1d_newton(row.problem(row.mode), newton,
                                          {.y = view(y.data(), {row.n}),
                                           .partition = partition,
                                           .dual = view(dual.data(), {row.n - 1}),
                                           .gap = {&gap, 1},
                                           .iterations = {&iterations, 1},
                                           .converged = {&converged, 1}});
  }

  std::vector<double> y, dual;
  std::vector<std::uint32_t> partition;
  double gap = -1;
  std::int32_t iterations = -1;
  std::uint8_t converged = 255;
  tautstring::Status status;
};

void check_report(const Row& row, const tautstring::Newton1d& newton, const Call& call) {
  require(call.iterations >= 0 && call.iterations <= newton.iterations);
  require(call.converged <= 1);
  const bool is_finite =
      std::all_of(row.x.begin(), row.x.end(), [](double value) { return std::isfinite(value); });
  if (!is_finite) return;
  require(call.gap >= 0);
  for (std::size_t i = 0; i < call.dual.size(); ++i) {
    require(std::abs(call.dual[i]) <= row.lam[i]);
  }
}

void check_solution(const Row& row, const tautstring::Newton1d& newton, const Call& call) {
  const std::vector<double> expected = tautstring::reference::prox_tv1d(row.x, row.lam);
  const double optimum = tautstring::reference::objective(row.x, row.lam, {}, expected);
  const double objective = tautstring::reference::objective(row.x, row.lam, {}, call.y);
  // With a gap of 0, values may still be off by the square root of the rounding of its terms.
  require(objective - optimum <= call.gap + 1e-14 * optimum);
  const bool is_exact = newton.tol == 0 && (newton.polish || call.converged != 0);
  if (!is_exact) return;
  require(row.is_solution(call.y));
  for (std::size_t i = 0; i < call.y.size(); ++i) {
    require(std::abs(call.y[i] - expected[i]) <= 1e-13);
  }
}

/// Starting where an earlier call ended leads to the same result.
void check_start(const Row& row, tautstring::Newton1d newton, const Call& first) {
  newton.start = view(first.dual.data(), {row.n - 1});
  const Call second(row, newton);
  require(second.status.ok());
  check_report(row, newton, second);
  if (row.kind != Values::any_bits) check_solution(row, newton, second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const tautstring::Newton1d newton = settings(data);
  Row row(data, tautstring::fuzz::Weights::none);
  row.mode = tautstring::Mode::smooth;
  const Call call(row, newton);
  require(call.status.ok() == row.is_lam_valid());
  if (!call.status.ok()) return 0;
  check_report(row, newton, call);
  if (row.kind != Values::any_bits) check_solution(row, newton, call);
  check_start(row, newton, call);
  return 0;
}
