// Where the rows of an array are. Consecutive batch dimensions with uniform steps are merged, so
// that most arrays need no division per row.
#pragma once

#include <cstdint>

#include "backend.h"

namespace tautstring::detail {

template <class Data>
struct PlacedRows {
  Data* data = nullptr;
  std::int64_t stride = 0;  // along a row
  std::int32_t size = 0;    // along a row
  int dims = 0;
  std::int64_t shape[kMaxBatchDims] = {};  // last one fastest; the first is never divided by
  std::int64_t step[kMaxBatchDims] = {};

  PlacedRows() = default;
  template <class Any>
  PlacedRows(const BasicRowArray<Any>& array, const Rows& rows) noexcept
      : data(static_cast<Data*>(array.data)), stride(array.stride), size(array.size) {
    for (int d = 0; d < rows.batch_dims; ++d) {
      const std::int64_t count = rows.batch_shape[d];
      const std::int64_t apart = array.batch_strides[d];
      if (count == 1) continue;
      if (dims > 0 && step[dims - 1] == apart * count) {
        shape[dims - 1] *= count;
        step[dims - 1] = apart;
      } else {
        shape[dims] = count;
        step[dims++] = apart;
      }
    }
  }

  [[nodiscard]] __device__ std::int64_t offset(std::int64_t row) const noexcept {
    if (dims <= 1) return row * step[0];
    std::int64_t at = 0;
#pragma unroll 1
    for (int d = dims - 1; d > 0; --d) {
      const std::int64_t rest = row / shape[d];
      at += (row - rest * shape[d]) * step[d];
      row = rest;
    }
    return at + row * step[0];
  }
  [[nodiscard]] __device__ Data* row(std::int64_t index) const noexcept {
    return data + offset(index);
  }

  /// Whether vectors of `width` elements can be read from every row of n elements.
  [[nodiscard]] bool holds_vectors(std::int32_t n, int width) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    bool whole = stride == 1 && n % width == 0 && address % (sizeof(Data) * width) == 0;
    for (int d = 0; d < dims; ++d) whole = whole && step[d] % width == 0;
    return whole;
  }
};

}  // namespace tautstring::detail
