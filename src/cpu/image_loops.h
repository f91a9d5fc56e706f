// Loops over the pixels of images in plain C++, compiled once for each instruction set: compilers
// vectorize them, and they give the same bits everywhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backend.h"
#include "cpu/sum_in_lanes.h"
#include "step/image/gap.h"
#include "step/row/row_io.h"
#include "step/segment.h"

namespace tautstring::detail {

/// Rows of pixels that a loop takes as one: all of an image if there are no gaps.
struct PixelRows {
  PixelRows(const ImageSpan<const void>& span, std::int32_t height, std::int32_t width,
            std::int64_t pitch) noexcept
      : count(height), length(width) {
    if (span.column_stride != 1 || span.row_stride != width || pitch != width) return;
    count = 1;
    length = std::int64_t{height} * width;
  }
  std::int32_t count;
  std::int64_t length;
};

/// The pixels of an image of the caller, to rows a pitch apart.
template <class Storage, class T>
TAUTSTRING_FORCE_INLINE void load_pixels_of(const ImageSpan<const void>& from, std::int32_t height,
                                            std::int32_t width, T* to,
                                            std::int64_t pitch) noexcept {
  const PixelRows rows(from, height, width, pitch);
  for (std::int32_t r = 0; r < rows.count; ++r) {
    const Storage* row = static_cast<const Storage*>(from.data) + r * from.row_stride;
    T* pixels = to + r * pitch;
    if (from.column_stride == 1) {
      for (std::int64_t c = 0; c < rows.length; ++c) pixels[c] = from_storage<T>(row[c]);
    } else {
      for (std::int64_t c = 0; c < rows.length; ++c) {
        pixels[c] = from_storage<T>(row[c * from.column_stride]);
      }
    }
  }
}

template <class T>
TAUTSTRING_FORCE_INLINE void load_pixels(const ImageSpan<const void>& from, std::int32_t height,
                                         std::int32_t width, T* to, std::int64_t pitch) noexcept {
  switch (from.dtype) {
    case DType::float16: return load_pixels_of<Float16>(from, height, width, to, pitch);
    case DType::bfloat16: return load_pixels_of<BFloat16>(from, height, width, to, pitch);
    case DType::float32: return load_pixels_of<float>(from, height, width, to, pitch);
    case DType::float64: return load_pixels_of<double>(from, height, width, to, pitch);
  }
}

/// What is stored of smooth pixels y: in mode sharp their mirror images at x; then `offset` is
/// added.
template <class T>
struct PixelStore {
  ImageSpan<void> to = {};
  std::int32_t height = 0;
  std::int32_t width = 0;
  const T* y = nullptr;
  std::int64_t pitch = 0;  // from row to row, of y and x
  const T* x = nullptr;    // null: smooth
  T offset = 0;
};

template <class Storage, class T>
TAUTSTRING_FORCE_INLINE void store_pixels_of(const PixelStore<T>& store) noexcept {
  constexpr std::int64_t kTogether = 64;
  const ImageSpan<void>& to = store.to;
  const PixelRows rows({to.data, to.dtype, to.row_stride, to.column_stride}, store.height,
                       store.width, store.pitch);
  for (std::int32_t r = 0; r < rows.count; ++r) {
    if (store.x == nullptr && store.offset == 0 && to.column_stride == 1) {
      const T* y = store.y + r * store.pitch;
      auto* row = static_cast<Storage*>(to.data) + r * to.row_stride;
      for (std::int64_t c = 0; c < rows.length; ++c) row[c] = to_storage<Storage>(y[c]);
      continue;
    }
    for (std::int64_t first = 0; first < rows.length; first += kTogether) {
      const std::int64_t count = std::min(rows.length - first, kTogether);
      const std::int64_t at = r * store.pitch + first;
      T values[kTogether];
      Storage stored[kTogether];
      if (store.x != nullptr) {
        for (std::int64_t c = 0; c < count; ++c)
          values[c] = mirror(store.x[at + c], store.y[at + c]);
      } else {
        for (std::int64_t c = 0; c < count; ++c) values[c] = store.y[at + c];
      }
      // Not adding 0 keeps the sign of -0.
      if (store.offset != 0) {
        for (std::int64_t c = 0; c < count; ++c) values[c] += store.offset;
      }
      for (std::int64_t c = 0; c < count; ++c) stored[c] = to_storage<Storage>(values[c]);
      auto* row = static_cast<Storage*>(to.data) + r * to.row_stride + first * to.column_stride;
      if (to.column_stride == 1) {
        for (std::int64_t c = 0; c < count; ++c) row[c] = stored[c];
      } else {
        for (std::int64_t c = 0; c < count; ++c) row[c * to.column_stride] = stored[c];
      }
    }
  }
}

template <class T>
TAUTSTRING_FORCE_INLINE void store_pixels(const PixelStore<T>& store) noexcept {
  switch (store.to.dtype) {
    case DType::float16: return store_pixels_of<Float16>(store);
    case DType::bfloat16: return store_pixels_of<BFloat16>(store);
    case DType::float32: return store_pixels_of<float>(store);
    case DType::float64: return store_pixels_of<double>(store);
  }
}

/// A row of an image and of an iterate, for its quality: P = x - between and Q = between - column
/// are the changes of the pixels by the dual variables u of the edges along rows and v of those
/// along columns. The arrays of doubles are scratch, but for `lam`, `v` and `above`.
template <class T>
struct QualityRow {
  std::int32_t width = 0;
  const T* x = nullptr;
  const T* between = nullptr;
  const T* column = nullptr;
  const T* values = nullptr;        // whose quality is wanted
  const T* values_below = nullptr;  // null after the last row
  double largest = 0;               // |x|, scaled
  double scale = 1;                 // a power of 2 that all differences are multiplied by
  const double* lam_right = nullptr;
  const double* lam_below = nullptr;
  double* rise = nullptr;
  double* u = nullptr;
  double* v = nullptr;      // summed over the rows so far
  double* right = nullptr;  // u as used for the gap, from the edge before the first pixel on
  double* above = nullptr;  // v as used for the gap, before the row
  double* below = nullptr;  // and after it
};

/// Computes the dual variables as used for the gap, and adds the contributions of the edges.
template <class T>
TAUTSTRING_FORCE_INLINE void count_edges(std::int32_t count, const QualityRow<T>& row,
                                         const double* dual, const double* lam, double* counted,
                                         Quality& quality) noexcept {
  const double* rise = row.rise;
  for (std::int32_t e = 0; e < count; ++e) {
    counted[e] = counted_dual<T>(dual[e], lam[e], rise[e], row.largest);
  }
  quality.gap += sum_in_lanes(count, [&](auto e) { return edge_gap(counted[e], lam[e], rise[e]); });
  quality.objective += sum_in_lanes(count, [&](auto e) { return edge_objective(lam[e], rise[e]); });
}

/// Adds the contributions of a row and of the edges after it. See step/image/gap.h.
template <class T>
TAUTSTRING_FORCE_INLINE void add_row_quality(const QualityRow<T>& row, Quality& quality) noexcept {
  const std::int32_t width = row.width;
  const double scale = row.scale;
  double u = 0;
  for (std::int32_t c = 0; c < width; ++c) {
    u -= scaled_difference(row.between[c], row.x[c], scale);
    row.u[c] = u;
    row.v[c] -= scaled_difference(row.column[c], row.between[c], scale);
  }
  for (std::int32_t c = 0; c + 1 < width; ++c) {
    row.rise[c] = scaled_difference(row.values[c], row.values[c + 1], scale);
  }
  count_edges(width - 1, row, row.u, row.lam_right, row.right + 1, quality);
  row.right[0] = row.right[width] = 0;
  if (row.values_below != nullptr) {
    for (std::int32_t c = 0; c < width; ++c) {
      row.rise[c] = scaled_difference(row.values[c], row.values_below[c], scale);
    }
    count_edges(width, row, row.v, row.lam_below, row.below, quality);
  } else {
    for (std::int32_t c = 0; c < width; ++c) row.below[c] = 0;
  }
  const auto change = [&](std::int64_t c) {
    return scaled_difference(row.values[c], row.x[c], scale);
  };
  const auto residual = [&](std::int64_t c) {
    return pixel_residual(row.right[c], row.right[c + 1], row.above[c], row.below[c], change(c));
  };
  quality.objective += sum_in_lanes(width, [&](auto c) { return change(c) * change(c); }) / 2;
  quality.gap += sum_in_lanes(width, [&](auto c) { return residual(c) * residual(c); }) / 2;
}

/// The arrays of an accelerated iteration.
template <class T>
struct AcceleratedStep {
  const T* x = nullptr;
  T* input = nullptr;  // A, then the next input of the rows
  T* y = nullptr;      // Y, then Q
  T* q = nullptr;      // of the iteration before
  T* q_ahead = nullptr;
};

/// y = Q of `count` pixels; returns their part of <Qb - Q, Q - Qold>.
template <class T>
TAUTSTRING_FORCE_INLINE double take_q(const AcceleratedStep<T>& step, std::int64_t count,
                                      double scale) noexcept {
  return sum_in_lanes(count, [&](std::int64_t i) {
    step.y[i] = step.input[i] - step.y[i];
    return (static_cast<double>(step.q_ahead[i] - step.y[i]) * scale) *
           (static_cast<double>(step.y[i] - step.q[i]) * scale);
  });
}

/// The next Qb and the next input, from Q in step.y.
template <class T>
TAUTSTRING_FORCE_INLINE void extrapolate(const AcceleratedStep<T>& step, std::int64_t count,
                                         T momentum) noexcept {
  for (std::int64_t i = 0; i < count; ++i) {
    step.q_ahead[i] = step.y[i] + momentum * (step.y[i] - step.q[i]);
    step.input[i] = step.x[i] - step.q_ahead[i];
  }
}

}  // namespace tautstring::detail
