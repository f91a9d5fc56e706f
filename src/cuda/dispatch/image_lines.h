// The rows or the columns of all images of a batch, in the form that 1D calls take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend.h"

namespace tautstring::detail {

enum class Lines2d : std::uint8_t { rows, columns };

[[nodiscard]] inline Rows lines_of(const Images& images, Lines2d lines) noexcept {
  const bool along_rows = lines == Lines2d::rows;
  Rows rows;
  rows.n = along_rows ? images.width : images.height;
  const std::int32_t line_count = along_rows ? images.height : images.width;
  rows.count = images.count * line_count;
  rows.dim = images.batch_dims + 1;
  rows.batch_dims = images.batch_dims + 1;
  std::copy_n(images.batch_shape, images.batch_dims, rows.batch_shape);
  rows.batch_shape[images.batch_dims] = line_count;
  return rows;
}

template <class Data>
[[nodiscard]] BasicRowArray<Data> by_lines(const BasicImageArray<Data>& images, int batch_dims,
                                           Lines2d lines) noexcept {
  const bool along_rows = lines == Lines2d::rows;
  BasicRowArray<Data> array;
  array.data = images.data;
  array.dtype = images.dtype;
  array.given = images.given;
  array.size = along_rows ? images.width : images.height;
  array.stride = along_rows ? images.column_stride : images.row_stride;
  std::copy_n(images.batch_strides, batch_dims, array.batch_strides);
  array.batch_strides[batch_dims] = along_rows ? images.row_stride : images.column_stride;
  return array;
}

/// Images of any size, contiguous and in row-major order.
template <class Data>
[[nodiscard]] BasicImageArray<Data> packed_images(Data* data, DType dtype, const Images& images,
                                                  std::int32_t height,
                                                  std::int32_t width) noexcept {
  BasicImageArray<Data> array;
  array.data = data;
  array.dtype = dtype;
  array.given = true;
  array.height = height;
  array.width = width;
  array.row_stride = width;
  array.column_stride = 1;
  std::int64_t apart = std::int64_t{height} * width;
  for (int d = images.batch_dims - 1; d >= 0; --d) {
    array.batch_strides[d] = apart;
    apart *= images.batch_shape[d];
  }
  return array;
}

/// Whether an array has the layout of packed_images.
template <class Data>
[[nodiscard]] bool is_packed(const BasicImageArray<Data>& array, const Images& images) noexcept {
  const auto packed =
      packed_images<Data>(nullptr, array.dtype, images, images.height, images.width);
  bool same = (images.width == 1 || array.column_stride == 1) &&
              (images.height == 1 || array.row_stride == packed.row_stride);
  for (int d = 0; d < images.batch_dims; ++d) {
    same =
        same && (images.batch_shape[d] == 1 || array.batch_strides[d] == packed.batch_strides[d]);
  }
  return same;
}

}  // namespace tautstring::detail
