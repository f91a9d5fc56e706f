// The public 2D calls: check, find the backend, forward.
#include "tautline/tv2d.h"

#include "api/arguments.h"

namespace tautline {
namespace {

using detail::Arguments;
using detail::Backend;
using Along = Arguments::Along;

/// A dimension of a view counted from the front, -1 where it names none.
int from_front(int dim, int ndim) {
  const int front = dim < 0 ? dim + ndim : dim;
  return front >= 0 && front < ndim ? front : -1;
}

/// Where the images of an array are, from where its rows are.
template <class Data>
detail::BasicImageArray<Data> lay_out(const detail::BasicRowArray<Data>& rows, int height_dim,
                                      int width_dim, const detail::Rows& shape) {
  detail::BasicImageArray<Data> images;
  images.data = rows.data;
  images.dtype = rows.dtype;
  images.given = rows.given;
  images.width = rows.size;
  images.column_stride = rows.stride;
  // Among the batch dimensions of rows, those of images and the one that columns run along.
  const int height_place = height_dim < width_dim ? height_dim : height_dim - 1;
  int place = 0;
  for (int d = 0; d < shape.batch_dims; ++d) {
    if (d == height_place) {
      images.row_stride = rows.batch_strides[d];
      images.height = static_cast<std::int32_t>(shape.batch_shape[d]);
    } else {
      images.batch_strides[place++] = rows.batch_strides[d];
    }
  }
  return images;
}

}  // namespace
}  // namespace tautline
