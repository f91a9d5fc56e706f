// lam and weight of a row, and whether their values are allowed. On the CPU a
// bad value is an error before anything is written.
#pragma once

#include <cmath>

#include "backend.h"
#include "cpu/row_io.h"

namespace tautline::detail {

/// One number for the row, or one an edge in the buffer it was loaded to.
struct LoadedLam {
  bool per_edge;
  double number;
};

inline LoadedLam load_lam(const RowLam& lam, const Rows& rows, std::int64_t row, double* edges) {
  if (!lam.array.given) return {false, lam.number};
  const auto values = lam.array.row(rows, row);
  if (values.size == 0) return {false, 1};  // one sample and no edge: any lam but 0 is the same
  if (values.size == 1) return {false, load_element(values, 0)};
  load_row(values, values.size, edges);
  return {true, 0};
}

/// Looks at every element of an array once, however often it is broadcast;
/// returns the first that is not allowed.
template <class Allowed>
Status check_values(const ConstRowArray& array, Rows rows, const char* name, const char* expected,
                    Allowed allowed) noexcept {
  rows.count = rows.count == 0 ? 0 : 1;
  for (int d = 0; d < rows.batch_dims; ++d) {
    if (array.batch_strides[d] == 0) rows.batch_shape[d] = 1;
    rows.count *= rows.batch_shape[d];
  }
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const auto values = array.row(rows, r);
    for (std::int32_t i = 0; i < values.size; ++i) {
      const double value = load_element(values, i);
      if (!allowed(value)) {
        return {StatusCode::invalid_argument, name, expected, value, r * values.size + i};
      }
    }
  }
  return {};
}

inline Status check_lam(const RowLam& lam, const Rows& rows) noexcept {
  constexpr const char* kExpected = "must be >= 0 and not NaN";
  if (lam.array.given) {
    return check_values(lam.array, rows, "lam", kExpected, [](double v) { return v >= 0; });
  }
  if (lam.number >= 0) return {};
  return {StatusCode::invalid_argument, "lam", kExpected, lam.number};
}

inline Status check_weight(const ConstRowArray& weight, const Rows& rows) noexcept {
  if (!weight.given) return {};
  return check_values(weight, rows, "weight", "must be >= 0 and finite",
                      [](double v) { return v >= 0 && std::isfinite(v); });
}

}  // namespace tautline::detail
