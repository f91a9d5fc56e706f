// lam of a row for the vector code: in its arithmetic type, and limited to the largest value that
// makes a difference.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend.h"
#include "cpu/row_path.h"
#include "cpu/vector/vector_kernels.h"
#include "step/row/row_io.h"

namespace tautstring::detail {

/// Whether lam is one per edge.
[[nodiscard]] inline bool is_per_edge(const RowLam& lam) noexcept {
  return lam.array.given && lam.array.size > 1;
}

/// Loads a lam that is one for the row, limited to `most`; returns the unlimited one.
template <class T>
LamExtent load_row_lam(const RowLam& lam, const Rows& rows, std::int64_t row, T most,
                       T& to) noexcept {
  const double value = !lam.array.given      ? lam.number
                       : lam.array.size == 0 ? 1  // no edge: all lams but 0 are equivalent
                                             : load_element(lam.array.row(rows, row), 0);
  to = value < static_cast<double>(most) ? static_cast<T>(value) : most;
  return {value, value};
}

/// Loads a lam that is one per edge, each limited to `most`; returns the unlimited extent. `to` has
/// room for one more vector.
template <class T>
LamExtent load_edge_lam(const RowSpan<const void>& row, T most, const VectorKernels<T>& kernels,
                        T* to) noexcept {
  Extent<T> extent;
  if (row.dtype == kDType<T> && row.stride == 1) {
    kernels.copy_rows(static_cast<const T*>(row.data), 0, 1, row.size, to, 0, &extent);
  } else {
    load_row(row, row.size, to);
    kernels.measure_rows(to, 0, 1, row.size, &extent);
  }
  if (extent.high > most) {
    for (std::int32_t e = 0; e < row.size; ++e) to[e] = std::min(to[e], most);
  }
  return {static_cast<double>(extent.low), static_cast<double>(extent.high)};
}

}  // namespace tautstring::detail
