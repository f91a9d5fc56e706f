// Where the images of a batch and their lams are, by rows or columns of all images.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/placed_rows.cuh"

namespace tautline::detail {

/// Where the elements of an array of images are, by rows.
using PlacedImages = PlacedRows<const void* const>;

/// lams along rows or columns, as kernels see them.
struct PlacedLam {
  double number;
  const void* data;  // null: the number
  DType dtype;
  PlacedImages lines;

  [[nodiscard]] __device__ double at(std::int64_t line, std::int32_t e) const noexcept {
    if (data == nullptr) return number;
    const std::int64_t edge = lines.size > 1 ? e : 0;
    return load_as<double>(data, dtype, lines.offset(line) + edge * lines.stride);
  }
};

/// Of an image that had none, the first stands for what was done.
[[nodiscard]] __device__ inline int iterations_of(const std::int32_t* done, int iterations,
                                                  std::int64_t image) noexcept {
  return done == nullptr ? iterations : max(done[image], 1);
}

}  // namespace tautline::detail
