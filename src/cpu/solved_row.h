// What backward and jvp read of a solved row.
#pragma once

#include <cmath>
#include <cstdint>

#include "backend.h"
#include "cpu/row_io.h"
#include "cpu/row_lam.h"
#include "cpu/scratch.h"

namespace tautline::detail {

struct SolvedRow {
  const Code* codes;
  const double* weight = nullptr;  // null: all 1, and x and y are not known
  const double* x = nullptr;
  const double* y = nullptr;

  [[nodiscard]] bool is_present(std::int32_t i) const noexcept {
    return weight == nullptr || weight[i] != 0;
  }

  /// x - prox(x) of sample i, from the result of either mode; 0 where a missing
  /// sample holds no number.
  [[nodiscard]] double residual(std::int32_t i, bool sharpened) const noexcept {
    if (weight[i] == 0 && !std::isfinite(x[i])) return 0;
    return sharpened && weight[i] != 0 ? y[i] - x[i] : x[i] - y[i];
  }
};

/// Loads a row into scratch.codes and, with data weights, scratch.weight, .width
/// and .width_error; leaves .x, .y, .lam and .compact free.
inline SolvedRow load_solved_row(const SolvedRows& solved, std::int64_t row,
                                 const RowScratch& scratch) {
  const Rows& rows = solved.rows;
  unpack_codes(solved.partition + row * partition_words(rows.n), rows.n, scratch.codes);
  if (!solved.weight.given) return {.codes = scratch.codes};
  load_row(solved.weight.row(rows, row), rows.n, scratch.weight);
  load_row(solved.x.row(rows, row), rows.n, scratch.width);
  load_row(solved.y.row(rows, row), rows.n, scratch.width_error);
  return {scratch.codes, scratch.weight, scratch.width, scratch.width_error};
}

}  // namespace tautline::detail
