// Moves neighbouring rows between arrays of the caller, of any dtype and strides, and tiles of the
// arithmetic type.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cpu/targets.h"
#include "step/row/row_io.h"

namespace tautstring::detail {

template <class T>
class RowMover {
 public:
  /// `narrow` is scratch memory for as many 16-bit elements as a tile has samples.
  RowMover(const CpuTarget& target, std::uint16_t* narrow) noexcept
      : kernels_(target.kernels<T>()), columns16_(target.columns16), narrow_(narrow) {}

  /// Loads rows that are `step` apart, the first of which is given, to rows `pitch` apart.
  void load(const RowSpan<const void>& row, std::int64_t step, std::int32_t rows, T* to,
            std::int64_t pitch) const noexcept {
    ImageSpan<const void> from = {row.data, row.dtype, step, row.stride};
    if (is_columns(row, step)) {
      if (row.dtype == kDType<T>) {
        return kernels_.columns.gather(static_cast<const T*>(row.data), row.stride, rows, row.size,
                                       to, pitch);
      }
      columns16_.gather(static_cast<const std::uint16_t*>(row.data), row.stride, rows, row.size,
                        narrow_, pitch);
      from = {narrow_, row.dtype, pitch, 1};
    }
    kernels_.load_pixels(from, rows, row.size, to, pitch);
  }

  /// The inverse.
  void store(const T* from, std::int64_t pitch, std::int32_t rows, const RowSpan<void>& row,
             std::int64_t step) const noexcept {
    const ImageSpan<void> to = {row.data, row.dtype, step, row.stride};
    if (!is_columns(row, step)) return kernels_.store_pixels({to, rows, row.size, from, pitch});
    if (row.dtype == kDType<T>) {
      return kernels_.columns.scatter(from, pitch, rows, row.size, static_cast<T*>(row.data),
                                      row.stride);
    }
    kernels_.store_pixels({{narrow_, row.dtype, pitch, 1}, rows, row.size, from, pitch});
    columns16_.scatter(narrow_, pitch, rows, row.size, static_cast<std::uint16_t*>(row.data),
                       row.stride);
  }

 private:
  template <class Data>
  [[nodiscard]] static bool is_columns(const RowSpan<Data>& row, std::int64_t step) noexcept {
    const bool is_moved = row.dtype == kDType<T> || size_of(row.dtype) == sizeof(std::uint16_t);
    return step == 1 && row.stride != 1 && is_moved;
  }

  const VectorKernels<T>& kernels_;
  const ColumnMoves<std::uint16_t>& columns16_;
  std::uint16_t* narrow_;
};

}  // namespace tautstring::detail
