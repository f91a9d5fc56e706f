// Where the images of a batch and their lams are, by rows or columns of all images.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/placed_rows.cuh"
#include "cuda/warp/storage.cuh"

namespace tautstring::detail {

/// Stores to element `at` of an array of any type.
template <class T>
__device__ void store_as(void* data, DType dtype, std::int64_t at, T value) noexcept {
  switch (dtype) {
    case DType::float16: static_cast<__half*>(data)[at] = narrow<__half>(value); return;
    case DType::bfloat16:
      static_cast<__nv_bfloat16*>(data)[at] = narrow<__nv_bfloat16>(value);
      return;
    case DType::float32: static_cast<float*>(data)[at] = narrow<float>(value); return;
    case DType::float64: static_cast<double*>(data)[at] = narrow<double>(value); return;
  }
}

/// Where the elements of an array of images are, by rows.
using PlacedImages = PlacedRows<const void* const>;

/// The lams of one line.
struct LineLams {
  double number;
  const void* data;  // null: the number
  DType dtype;
  std::int64_t first;
  std::int64_t step;  // 0: one lam for the line

  [[nodiscard]] __device__ double at(std::int32_t e) const noexcept {
    return data == nullptr ? number : load_as<double>(data, dtype, first + e * step);
  }
};

/// An array of images, as a block with one image sees it.
template <class Data>
struct PlacedPixels {
  Data* data = nullptr;  // null: not given
  DType dtype = DType::float32;
  PlacedImages images;  // the start of each image, with the stride along its rows
  std::int64_t row_stride = 0;

  /// The column of an image, from its first pixel on.
  template <class Storage>
  [[nodiscard]] __device__ Storage* column(std::int64_t image, int c) const noexcept {
    return static_cast<Storage*>(data) + first(image) + c * images.stride;
  }
  /// The offsets of an image's first pixel, and of other pixels relative to it.
  [[nodiscard]] __device__ std::int64_t first(std::int64_t image) const noexcept {
    return images.offset(image);
  }
  [[nodiscard]] __device__ std::int64_t apart(std::int32_t r, std::int32_t c) const noexcept {
    return r * row_stride + c * images.stride;
  }
};

/// lams along rows or columns, in the form that kernels take.
struct PlacedLam {
  double number;
  const void* data;  // null: the number
  DType dtype;
  PlacedImages lines;

  [[nodiscard]] __device__ LineLams of(std::int64_t line) const noexcept {
    if (data == nullptr) return {number, nullptr, dtype, 0, 0};
    return {number, data, dtype, lines.offset(line), is_by_edge() ? lines.stride : 0};
  }
  [[nodiscard]] __device__ double at(std::int64_t line, std::int32_t e) const noexcept {
    return of(line).at(e);
  }
  [[nodiscard]] __device__ bool is_by_edge() const noexcept { return lines.size > 1; }
};

/// An image without iterations counts as having had the first.
[[nodiscard]] __device__ inline int iterations_of(const std::int32_t* done, int iterations,
                                                  std::int64_t image) noexcept {
  return done == nullptr ? iterations : max(done[image], 1);
}

}  // namespace tautstring::detail
