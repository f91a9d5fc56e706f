// A call of the Newton solver on float64 rows, with all its results.
#pragma once

#include <cstdint>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {

struct NewtonCall {
  /// One row, with one lam or one per edge.
  explicit NewtonCall(const Row& row, const Newton1d& newton = {}, Mode mode = Mode::smooth);
  /// `rows` contiguous rows.
  NewtonCall(const std::vector<double>& x, std::int64_t rows, const Lam& lam,
             const Newton1d& newton = {}, const Context& context = {}, Mode mode = Mode::smooth);

  [[nodiscard]] std::vector<Code> codes() const;
  [[nodiscard]] ConstView dual_view() const;

  std::int64_t rows;
  std::int64_t n;
  std::vector<double> y, dual, gap;
  std::vector<std::int32_t> iterations;
  std::vector<std::uint8_t> converged;
  std::vector<std::uint32_t> partition;
};

/// The certificate1d of y.
double certificate_of(const Row& row, const std::vector<double>& y);

}  // namespace tautstring::testing
