// The quality of a 2D result: its objective, and an upper bound on how far it is from the optimum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backend.h"
#include "cpu/image_loops.h"
#include "cpu/targets.h"
#include "step/image/gap.h"
#include "step/row/row_io.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// The lams of the edges along the rows, or along the columns, of one image.
class EdgeLams {
 public:
  EdgeLams(const ImageLam& lam, const Images& images, std::int64_t image) noexcept
      : number_(lam.number), given_(lam.array.given) {
    if (given_) span_ = lam.array.image(images, image);
  }

  /// Whether all `rows` lams of each of `count` columns are the same, or all `count` lams of each
  /// row.
  [[nodiscard]] bool are_equal_along_columns(std::int32_t rows, std::int32_t count) const noexcept {
    if (!given_ || span_.row_stride == 0) return true;
    for (std::int32_t r = 1; r < rows; ++r) {
      for (std::int32_t c = 0; c < count; ++c) {
        if (at(r, c) != at(0, c)) return false;
      }
    }
    return true;
  }
  [[nodiscard]] bool are_equal_along_rows(std::int32_t rows, std::int32_t count) const noexcept {
    if (!given_ || span_.column_stride == 0) return true;
    for (std::int32_t r = 0; r < rows; ++r) {
      for (std::int32_t c = 1; c < count; ++c) {
        if (at(r, c) != at(r, 0)) return false;
      }
    }
    return true;
  }

  /// Loads the lams of the edges after the first `count` pixels of row r.
  void load(std::int32_t r, std::int32_t count, double* out) const noexcept {
    if (!given_) {
      std::fill_n(out, count, number_);
    } else {
      load_row(RowSpan<const void>{static_cast<const std::byte*>(span_.data) +
                                       r * span_.row_stride * size_of(span_.dtype),
                                   span_.dtype, span_.column_stride, count},
               count, out);
    }
  }
  [[nodiscard]] double at(std::int32_t r, std::int32_t c) const noexcept {
    if (!given_) return number_;
    return load_element({span_.data, span_.dtype, 1, 0},
                        r * span_.row_stride + c * span_.column_stride);
  }
  /// Whether the lams of `rows` rows of `count` edges are all 0.
  [[nodiscard]] bool are_zero(std::int32_t rows, std::int32_t count) const noexcept {
    if (!given_) return number_ == 0;
    for (std::int32_t r = 0; r < rows; ++r) {
      for (std::int32_t c = 0; c < count; ++c) {
        if (at(r, c) != 0) return false;
      }
    }
    return true;
  }

 private:
  double number_;
  bool given_;
  ImageSpan<const void> span_ = {};
};

/// An iterate: P = x - column_input and Q = column_input - y are the changes of the pixels by the
/// dual variables u of the edges along rows and v of those along columns.
template <class T>
struct Iterate {
  const T* x;
  const T* column_input;
  const T* y;
  double largest;  // |x|
  double scale;    // a power of 2 that all differences and lams are multiplied by
};

/// The quality of any Y, with u and v of an iterate: see step/image/gap.h.
template <class T>
class ImageQuality {
 public:
  ImageQuality(Scratch& scratch, const Images& images) noexcept
      : height_(images.height),
        width_(images.width),
        lam_right_(scratch.take<double>(width_)),
        lam_below_(scratch.take<double>(width_)),
        rise_(scratch.take<double>(width_)),
        u_(scratch.take<double>(width_)),
        v_(scratch.take<double>(width_)),
        right_(scratch.take<double>(width_ + 1)),
        above_(scratch.take<double>(width_)),
        below_(scratch.take<double>(width_)) {}

  [[nodiscard]] Quality of(const T* y, const Iterate<T>& iterate, const EdgeLams& lam_rows,
                           const EdgeLams& lam_cols) const noexcept {
    const auto add_row_quality = chosen_cpu_target().kernels<T>().add_row_quality;
    Quality quality;
    QualityRow<T> row;
    row.width = width_;
    row.largest = iterate.largest * iterate.scale;
    row.scale = iterate.scale;
    row.lam_right = lam_right_;
    row.lam_below = lam_below_;
    row.rise = rise_;
    row.u = u_;
    row.v = v_;
    row.right = right_;
    row.above = above_;
    row.below = below_;
    std::fill_n(v_, width_, 0.0);
    std::fill_n(above_, width_, 0.0);
    for (std::int32_t r = 0; r < height_; ++r) {
      const std::int64_t first = std::int64_t{r} * width_;
      const bool is_last = r + 1 == height_;
      row.x = iterate.x + first;
      row.between = iterate.column_input + first;
      row.column = iterate.y + first;
      row.values = y + first;
      row.values_below = is_last ? nullptr : row.values + width_;
      load_lams(lam_rows, r, width_ - 1, iterate.scale, lam_right_);
      if (!is_last) load_lams(lam_cols, r, width_, iterate.scale, lam_below_);
      add_row_quality(row, quality);
      std::swap(row.above, row.below);
    }
    return quality;
  }

 private:
  static void load_lams(const EdgeLams& lam, std::int32_t r, std::int32_t count, double scale,
                        double* out) noexcept {
    lam.load(r, count, out);
    if constexpr (std::is_same_v<T, float>) return;
    for (std::int32_t e = 0; e < count; ++e) out[e] = scaled_lam<T>(out[e], scale);
  }

  std::int32_t height_;
  std::int32_t width_;
  // One per pixel of a row: see QualityRow.
  double* lam_right_;
  double* lam_below_;
  double* rise_;
  double* u_;
  double* v_;
  double* right_;
  double* above_;
  double* below_;
};

}  // namespace tautstring::detail
