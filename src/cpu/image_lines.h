// The rows and columns of one image, in the form that the 1D calls take.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend.h"

namespace tautstring::detail {

/// The lines of an image along one direction.
struct Lines {
  std::int32_t count;
  std::int32_t length;
  std::int64_t apart;
  std::int64_t stride;
};

inline Lines row_lines(const Images& images) noexcept {
  return {images.height, images.width, images.width, 1};
}
inline Lines column_lines(const Images& images) noexcept {
  return {images.width, images.height, 1, images.width};
}
inline Rows rows_of(const Lines& lines) noexcept {
  Rows rows;
  rows.count = lines.count;
  rows.n = lines.length;
  rows.dim = 1;
  rows.batch_dims = 1;
  rows.batch_shape[0] = lines.count;
  return rows;
}

/// An image in memory, row by row, as an array of such lines.
template <class Data>
BasicRowArray<Data> lines_array(Data* data, DType dtype, const Lines& lines) noexcept {
  BasicRowArray<Data> array;
  array.data = data;
  array.dtype = dtype;
  array.given = true;
  array.size = lines.length;
  array.stride = lines.stride;
  array.batch_strides[0] = lines.apart;
  return array;
}

/// One image of the caller, as an array of its rows and of its columns.
template <class Data>
BasicRowArray<Data> rows_array(const ImageSpan<Data>& image, const Images& images) noexcept {
  return lines_array<Data>(image.data, image.dtype,
                           {images.height, images.width, image.row_stride, image.column_stride});
}
template <class Data>
BasicRowArray<Data> columns_array(const ImageSpan<Data>& image, const Images& images) noexcept {
  return lines_array<Data>(image.data, image.dtype,
                           {images.width, images.height, image.column_stride, image.row_stride});
}

/// The lams of one image, as those of its rows and of its columns; not given if the lams are not.
inline ConstRowArray lam_rows_lines(const ConstImageArray& lam, const Images& images,
                                    std::int64_t image) noexcept {
  ConstRowArray array;
  if (!lam.given) return array;
  const ImageSpan<const void> span = lam.image(images, image);
  array = {span.data, span.dtype, true, lam.width, span.column_stride, {}};
  array.batch_strides[0] = span.row_stride;
  return array;
}
inline ConstRowArray lam_cols_lines(const ConstImageArray& lam, const Images& images,
                                    std::int64_t image) noexcept {
  ConstRowArray array;
  if (!lam.given) return array;
  const ImageSpan<const void> span = lam.image(images, image);
  array = {span.data, span.dtype, true, lam.height, span.row_stride, {}};
  array.batch_strides[0] = span.column_stride;
  return array;
}

/// The number of iterations of an image: at least one is saved, even if none was needed.
inline int iterations_of(const SolvedImages& solved, std::int64_t image) noexcept {
  const int done = solved.done == nullptr ? solved.iterations : solved.done[image];
  return std::clamp(done, 1, solved.iterations);
}

}  // namespace tautstring::detail
