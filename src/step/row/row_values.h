// lam and weight of a row: how they are loaded, and which values are allowed. On a device, where a
// bad value cannot be an error, its row is rejected: all results computed from it are NaN, and its
// partition is one segment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "backend.h"
#include "step/host_device.h"
#include "step/row/row_io.h"

namespace tautstring::detail {

/// One number for the row, or one per edge in the buffer it was loaded to.
struct LoadedLam {
  bool per_edge;
  double number;
};

TAUTSTRING_HOST_DEVICE inline LoadedLam load_lam(const RowLam& lam, const Rows& rows,
                                                 std::int64_t row, double* edges) {
  if (!lam.array.given) return {false, lam.number};
  const auto values = lam.array.row(rows, row);
  if (values.size == 0) return {false, 1};  // one sample and no edge: all lams but 0 are equivalent
  if (values.size == 1) return {false, load_element(values, 0)};
  load_row(values, values.size, edges);
  return {true, 0};
}

inline constexpr const char* kAllowedLam = "must be >= 0 and not NaN";

template <class T>
[[nodiscard]] constexpr bool is_allowed_lam(T value) noexcept {
  return value >= 0;
}

template <class T>
[[nodiscard]] constexpr bool is_allowed_weight(T value) noexcept {
  return value >= 0 && value <= std::numeric_limits<T>::max();
}

/// A number is known before the launch: a bad one is an error on every device.
[[nodiscard]] inline Status check_lam_number(const RowLam& lam) noexcept {
  if (lam.array.given || is_allowed_lam(lam.number)) return {};
  return {.code = StatusCode::invalid_argument,
          .argument = "lam",
          .expected = kAllowedLam,
          .given = lam.number,
          .has_given = true};
}

/// The largest ratio between the weights of a row that the string's sums can represent.
inline constexpr double kLargestWeightRatio = 0x1p100;

/// The range of weights, each of which is allowed by itself.
struct WeightRange {
  double smallest = std::numeric_limits<double>::infinity();  // of those that are not 0
  double largest = 0;
  std::int32_t place = 0;  // of the smallest

  [[nodiscard]] constexpr bool is_too_wide() const noexcept {
    return largest / kLargestWeightRatio > smallest;
  }
};

TAUTSTRING_HOST_DEVICE inline WeightRange range_of_weights(
    const RowSpan<const void>& row) noexcept {
  WeightRange range;
  for (std::int32_t i = 0; i < row.size; ++i) {
    const double value = load_element(row, i);
    range.largest = std::max(range.largest, value);
    if (value > 0 && value < range.smallest) {
      range.smallest = value;
      range.place = i;
    }
  }
  return range;
}

[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_lam(const RowLam& lam,
                                                                 const Rows& rows,
                                                                 std::int64_t row) noexcept {
  if (!lam.array.given) return true;  // checked before
  const auto values = lam.array.row(rows, row);
  for (std::int32_t i = 0; i < values.size; ++i) {
    if (!is_allowed_lam(load_element(values, i))) return false;
  }
  return true;
}

[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_weight(const ConstRowArray& weight,
                                                                    const Rows& rows,
                                                                    std::int64_t row) noexcept {
  if (!weight.given) return true;
  const auto values = weight.row(rows, row);
  for (std::int32_t i = 0; i < values.size; ++i) {
    if (!is_allowed_weight(load_element(values, i))) return false;
  }
  return !range_of_weights(values).is_too_wide();
}

/// Whether all values of a row of a call are allowed.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const Forward1d& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_lam(call.lam, call.rows, row) &&
         has_allowed_weight(call.weight, call.rows, row);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const NewtonForward1d& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_values(call.problem, row);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const Certificate1d& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_lam(call.lam, call.rows, row) &&
         has_allowed_weight(call.weight, call.rows, row);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const RowReduction& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_weight(call.weight, call.rows, row);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const Backward1d& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_weight(call.solved.weight, call.solved.rows, row);
}
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool has_allowed_values(const Jvp1d& call,
                                                                    std::int64_t row) noexcept {
  return has_allowed_weight(call.solved.weight, call.solved.rows, row);
}

/// Fills a row of an output with NaN.
TAUTSTRING_HOST_DEVICE inline void fill_nan(const RowArray& array, const Rows& rows,
                                            std::int64_t row) noexcept {
  if (!array.given) return;
  const RowSpan<void> values = array.row(rows, row);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (std::int32_t i = 0; i < values.size; ++i) store_row(drop_front(values, i), 1, &nan);
}

/// Writes the results of a call for a row that has a bad value.
TAUTSTRING_HOST_DEVICE inline void refuse(const Forward1d& call, std::int64_t row) noexcept {
  fill_nan(call.y, call.rows, row);
  if (call.partition == nullptr) return;
  const std::int64_t words = partition_words(call.rows.n);
  for (std::int64_t i = 0; i < words; ++i) {
    call.partition[row * words + i] = i == 0 ? static_cast<std::uint32_t>(Code::plain) : 0;
  }
}
TAUTSTRING_HOST_DEVICE inline void refuse(const NewtonForward1d& call, std::int64_t row) noexcept {
  refuse(call.problem, row);
  fill_nan(call.dual, call.problem.rows, row);
  if (call.gap != nullptr) call.gap[row] = std::numeric_limits<double>::quiet_NaN();
  if (call.iterations != nullptr) call.iterations[row] = 0;
  if (call.converged != nullptr) call.converged[row] = 0;
}
TAUTSTRING_HOST_DEVICE inline void refuse(const Certificate1d& call, std::int64_t row) noexcept {
  fill_nan(call.out, call.rows, row);
}
TAUTSTRING_HOST_DEVICE inline void refuse(const RowReduction& call, std::int64_t row) noexcept {
  fill_nan(call.out, call.rows, row);
}
TAUTSTRING_HOST_DEVICE inline void refuse(const Backward1d& call, std::int64_t row) noexcept {
  fill_nan(call.grad_x, call.solved.rows, row);
  fill_nan(call.grad_lam, call.solved.rows, row);
  fill_nan(call.grad_weight, call.solved.rows, row);
}
TAUTSTRING_HOST_DEVICE inline void refuse(const Jvp1d& call, std::int64_t row) noexcept {
  fill_nan(call.tangent_y, call.solved.rows, row);
}

}  // namespace tautstring::detail
