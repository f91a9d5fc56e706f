// The part of a solved row that backward and jvp read.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend.h"
#include "step/host_device.h"
#include "step/row/row_io.h"
#include "step/row/scaling.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

struct SolvedRow {
  const Code* codes;
  bool sharp;
  const double* weight = nullptr;  // null: all 1, and x and y are not available
  const double* x = nullptr;
  const double* y = nullptr;
  double weight_scale = 1;  // the factor by which `weight` was multiplied to keep its sums finite

  [[nodiscard]] constexpr bool is_present(std::int32_t i) const noexcept {
    return weight == nullptr || weight[i] != 0;
  }

  /// x - prox(x) of sample i times a power of two, from the result of either mode; 0 if a missing
  /// sample is NaN, or a row without samples has no solution.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double residual(std::int32_t i,
                                                       double scale = 1) const noexcept {
    const double before = x[i] * scale;
    const double after = y[i] * scale;
    if (weight[i] == 0) return std::isfinite(x[i]) && std::isfinite(y[i]) ? before - after : 0;
    return sharp ? after - before : before - after;
  }
};

/// Loads a row into scratch.codes and, with data weights, scratch.weight, .width
/// and .width_error; leaves .x, .y, .lam and .compact free.
TAUTSTRING_HOST_DEVICE inline SolvedRow load_solved_row(const SolvedRows& solved, std::int64_t row,
                                                        const RowScratch& scratch) noexcept {
  const Rows& rows = solved.rows;
  SolvedRow result = {.codes = scratch.codes, .sharp = solved.mode == Mode::sharp};
  unpack_codes(solved.partition + row * partition_words(rows.n), rows.n, scratch.codes);
  if (!solved.weight.given) return result;
  load_row(solved.weight.row(rows, row), rows.n, scratch.weight);
  load_row(solved.x.row(rows, row), rows.n, scratch.width);
  load_row(solved.y.row(rows, row), rows.n, scratch.width_error);
  result.weight = scratch.weight;
  result.x = scratch.width;
  result.y = scratch.width_error;
  result.weight_scale = choose_scale(largest_size(scratch.weight, rows.n));
  multiply(scratch.weight, rows.n, result.weight_scale);
  return result;
}

}  // namespace tautstring::detail
