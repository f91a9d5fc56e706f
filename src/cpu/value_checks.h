// Whether the values of lam and weight are allowed. On the CPU a bad one is an
// error before anything is written.
#pragma once

#include <type_traits>

#include "backend.h"
#include "cpu/targets.h"
#include "step/row/row_io.h"
#include "step/row/row_values.h"

namespace tautstring::detail {

/// The batch of the array itself: dimensions that it is broadcast over have size 1.
inline Rows own_rows(const ConstRowArray& array, Rows rows) noexcept {
  rows.count = rows.count == 0 ? 0 : 1;
  for (int d = 0; d < rows.batch_dims; ++d) {
    if (array.batch_strides[d] == 0) rows.batch_shape[d] = 1;
    rows.count *= rows.batch_shape[d];
  }
  return rows;
}

/// The index of element i of a row in its array, in row-major order.
inline std::int64_t flat_index(const Rows& rows, std::int64_t row, std::int32_t i,
                               std::int32_t size) noexcept {
  std::int64_t behind = 1;  // elements of the dimensions after dim
  for (int d = rows.dim; d < rows.batch_dims; ++d) behind *= rows.batch_shape[d];
  return (row / behind * size + i) * behind + row % behind;
}

/// Without a branch per element, so that compilers can vectorize it.
template <class Allowed>
bool all_allowed(const RowSpan<const void>& row, Allowed allowed) noexcept {
  return with_storage(row.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    using Value = std::conditional_t<std::is_same_v<Storage, double>, double, float>;
    const auto* values = static_cast<const Storage*>(row.data);
    bool all = true;
    const auto look_at = [&](Storage value) { all &= allowed(from_storage<Value>(value)); };
    if (row.stride == 1) {
      for (std::int32_t i = 0; i < row.size; ++i) look_at(values[i]);
    } else {
      for (std::int32_t i = 0; i < row.size; ++i) look_at(values[i * row.stride]);
    }
    return all;
  });
}

/// Whether all of a row is finite and not negative, which is always allowed. Returns false where
/// that would take longer to determine.
inline bool is_surely_allowed(const RowSpan<const void>& row) noexcept {
  const auto measured = [&](auto storage) {
    using T = decltype(storage);
    Extent<T> extent;
    chosen_cpu_target().kernels<T>().measure_rows(static_cast<const T*>(row.data), 0, 1, row.size,
                                                  &extent);
    return extent.finite && extent.low >= 0;
  };
  constexpr std::int32_t kWorthACall = 16;
  if (row.stride != 1 || row.size < kWorthACall) return false;
  if (row.dtype == DType::float32) return measured(float{});
  return row.dtype == DType::float64 && measured(double{});
}

/// Checks every element of an array once, even if it is broadcast; returns the first one that is
/// not allowed.
template <class Allowed>
Status check_values(const ConstRowArray& array, const Rows& batch, const char* name,
                    const char* expected, Allowed allowed) noexcept {
  const Rows rows = own_rows(array, batch);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const auto values = array.row(rows, r);
    if (is_surely_allowed(values) || all_allowed(values, allowed)) continue;
    std::int32_t i = 0;
    while (allowed(load_element(values, i))) ++i;
    return {.code = StatusCode::invalid_argument,
            .argument = name,
            .expected = expected,
            .given = load_element(values, i),
            .has_given = true,
            .index = flat_index(rows, r, i, values.size)};
  }
  return {};
}

inline Status check_lam(const RowLam& lam, const Rows& rows) noexcept {
  if (!lam.array.given) return check_lam_number(lam);
  return check_values(lam.array, rows, "lam", kAllowedLam,
                      [](auto value) { return is_allowed_lam(value); });
}

/// Checks the lams of images, which have names.
inline Status check_lams(const ImageLam& lam_rows, const ImageLam& lam_cols) noexcept {
  for (const ImageLam* lam : {&lam_rows, &lam_cols}) {
    Status status = check_lam(lam->of_lines, lam->lines);
    if (status.ok()) continue;
    status.argument = lam->name;
    return status;
  }
  return {};
}

inline Status check_weight(const ConstRowArray& weight, const Rows& batch) noexcept {
  if (!weight.given) return {};
  const Status values = check_values(weight, batch, "weight", "must be >= 0 and finite",
                                     [](auto value) { return is_allowed_weight(value); });
  if (!values.ok()) return values;
  const Rows rows = own_rows(weight, batch);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const auto row = weight.row(rows, r);
    if (const WeightRange range = range_of_weights(row); range.is_too_wide()) {
      return {.code = StatusCode::invalid_argument,
              .argument = "weight",
              .expected = "must be 0 or at least 2^-100 of the largest in its row",
              .given = range.smallest,
              .has_given = true,
              .index = flat_index(rows, r, range.place, row.size)};
    }
  }
  return {};
}

}  // namespace tautstring::detail
