// Where the rows of an array are, without one division per row where possible; and the order in
// which a batch is taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend.h"

namespace tautstring::detail {

/// The order in which the rows of a batch are taken: as they are numbered, or, if neighbours in
/// memory differ in another batch dimension than the last, along that one first. So the rows of
/// channels-last tensors are taken channel by channel.
class RowOrder {
 public:
  template <class Data>
  RowOrder(const BasicRowArray<Data>& array, const Rows& rows) noexcept {
    int last = rows.batch_dims - 1;
    while (last >= 0 && rows.batch_shape[last] == 1) --last;
    if (last < 0 || array.batch_strides[last] == 1 || array.stride == 1) return;
    for (int d = 0; d < last; ++d) {
      if (rows.batch_shape[d] > 1 && array.batch_strides[d] == 1) dim_ = d;
    }
    if (dim_ == kLast) return;
    length_ = rows.batch_shape[dim_];
    for (int d = dim_ + 1; d < rows.batch_dims; ++d) step_ *= rows.batch_shape[d];
  }

  static constexpr int kLast = -1;

  /// The dimension that is taken first.
  [[nodiscard]] int dim() const noexcept { return dim_; }
  /// The number of a row minus that of the row before, within runs of neighbours.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }

  /// How many rows, starting with this one, are a step apart; only along another dimension than
  /// the last.
  [[nodiscard]] std::int64_t neighbours(std::int64_t row) const noexcept {
    return length_ - row / step_ % length_;
  }
  /// The row that is taken at a position.
  [[nodiscard]] std::int64_t row_at(std::int64_t position) const noexcept {
    if (dim_ == kLast) return position;
    const std::int64_t block = position / (length_ * step_) * (length_ * step_);
    const std::int64_t within = position - block;
    return block + within % length_ * step_ + within / length_;
  }

 private:
  int dim_ = kLast;
  std::int64_t length_ = 1;
  std::int64_t step_ = 1;
};

template <class Data>
class RowPlaces {
 public:
  RowPlaces(const BasicRowArray<Data>& array, const Rows& rows,
            const RowOrder& order = in_order()) noexcept
      : array_(array), rows_(rows), order_(order) {
    std::int64_t behind = 1;  // rows in the later dimensions
    bool found = false;
    for (int d = rows.batch_dims - 1; d >= 0; --d) {
      if (rows.batch_shape[d] == 1) continue;
      if (!found) step_ = array.batch_strides[d];
      evenly_ = evenly_ && array.batch_strides[d] == step_ * behind;
      found = true;
      behind *= rows.batch_shape[d];
      if (run_ == 1) run_ = rows.batch_shape[d];
    }
    if (evenly_) run_ = behind;
    first_step_ = order.dim() == RowOrder::kLast ? step_ : array.batch_strides[order.dim()];
  }

  [[nodiscard]] RowSpan<Data> operator[](std::int64_t row) const noexcept {
    if (!evenly_) return array_.row(rows_, row);
    using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
    return {static_cast<Byte*>(array_.data) + row * step_ * size_of(array_.dtype), array_.dtype,
            array_.stride, array_.size};
  }

  /// From one row to the next in the order, in elements, within runs of neighbours.
  [[nodiscard]] std::int64_t step() const noexcept { return first_step_; }
  /// How many rows, starting with this one, are one step apart.
  [[nodiscard]] std::int64_t neighbours(std::int64_t row) const noexcept {
    return order_.dim() == RowOrder::kLast ? run_ - row % run_ : order_.neighbours(row);
  }

 private:
  static const RowOrder& in_order() noexcept {
    static const RowOrder order{BasicRowArray<const void>{}, Rows{}};
    return order;
  }

  const BasicRowArray<Data>& array_;
  const Rows& rows_;
  const RowOrder& order_;
  std::int64_t step_ = 0;        // from one row to the next, if they are evenly spaced
  std::int64_t first_step_ = 0;  // in the order
  std::int64_t run_ = 1;
  bool evenly_ = true;
};

}  // namespace tautstring::detail
