// Where the rows of an array are, without one division per row where possible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend.h"

namespace tautstring::detail {

template <class Data>
class RowPlaces {
 public:
  RowPlaces(const BasicRowArray<Data>& array, const Rows& rows) noexcept
      : array_(array), rows_(rows) {
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
  }

  [[nodiscard]] RowSpan<Data> operator[](std::int64_t row) const noexcept {
    if (!evenly_) return array_.row(rows_, row);
    using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
    return {static_cast<Byte*>(array_.data) + row * step_ * size_of(array_.dtype), array_.dtype,
            array_.stride, array_.size};
  }

  /// From one row to the next, in elements, within runs of neighbours.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// How many rows, starting with this one, are one step apart.
  [[nodiscard]] std::int64_t neighbours(std::int64_t row) const noexcept {
    return run_ - row % run_;
  }

 private:
  const BasicRowArray<Data>& array_;
  const Rows& rows_;
  std::int64_t step_ = 0;
  std::int64_t run_ = 1;
  bool evenly_ = true;
};

}  // namespace tautstring::detail
