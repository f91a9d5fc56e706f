// The quality of a 2D result: its objective, and an upper bound on how far it is from the optimum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backend.h"
#include "cpu/sum_in_lanes.h"
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

/// The quality of any Y, with u and v of an iterate: see step/image/gap.h. It is computed row by
/// row, in loops without branches that compilers can vectorize.
template <class T>
class ImageQuality {
 public:
  ImageQuality(Scratch& scratch, const Images& images) noexcept
      : height_(images.height),
        width_(images.width),
        lam_(scratch.take<double>(width_)),
        rise_(scratch.take<double>(width_)),
        u_(scratch.take<double>(width_)),
        v_(scratch.take<double>(width_)),
        right_(scratch.take<double>(width_ + 1)),
        above_(scratch.take<double>(width_)),
        below_(scratch.take<double>(width_)) {}

  [[nodiscard]] Quality of(const T* y, const Iterate<T>& iterate, const EdgeLams& lam_rows,
                           const EdgeLams& lam_cols) const noexcept {
    Quality quality;
    double* above = above_;
    double* below = below_;
    std::fill_n(v_, width_, 0.0);
    std::fill_n(above, width_, 0.0);
    for (std::int32_t r = 0; r < height_; ++r) {
      const std::int64_t first = std::int64_t{r} * width_;
      const T* x = iterate.x + first;
      const T* between = iterate.column_input + first;
      const T* column_values = iterate.y + first;
      const T* values = y + first;
      double u = 0;
      for (std::int32_t c = 0; c < width_; ++c) {
        u -= difference(between[c], x[c], iterate);
        u_[c] = u;
        v_[c] -= difference(column_values[c], between[c], iterate);
      }
      load_lams(lam_rows, r, width_ - 1, iterate);
      for (std::int32_t c = 0; c + 1 < width_; ++c) {
        rise_[c] = difference(values[c], values[c + 1], iterate);
      }
      count_edges(width_ - 1, u_, iterate, right_ + 1, quality);
      right_[0] = right_[width_] = 0;
      if (r + 1 < height_) {
        load_lams(lam_cols, r, width_, iterate);
        for (std::int32_t c = 0; c < width_; ++c) {
          rise_[c] = difference(values[c], values[c + width_], iterate);
        }
        count_edges(width_, v_, iterate, below, quality);
      } else {
        std::fill_n(below, width_, 0.0);
      }
      const auto change = [&](std::int64_t c) { return difference(values[c], x[c], iterate); };
      const auto residual = [&](std::int64_t c) {
        return pixel_residual(right_[c], right_[c + 1], above[c], below[c], change(c));
      };
      quality.objective += sum_in_lanes(width_, [&](auto c) { return change(c) * change(c); }) / 2;
      quality.gap += sum_in_lanes(width_, [&](auto c) { return residual(c) * residual(c); }) / 2;
      std::swap(above, below);
    }
    return quality;
  }

 private:
  static double difference(T from, T to, const Iterate<T>& iterate) noexcept {
    return scaled_difference(from, to, iterate.scale);
  }
  void load_lams(const EdgeLams& lam, std::int32_t r, std::int32_t count,
                 const Iterate<T>& iterate) const noexcept {
    lam.load(r, count, lam_);
    if constexpr (std::is_same_v<T, float>) return;
    for (std::int32_t e = 0; e < count; ++e) lam_[e] = scaled_lam<T>(lam_[e], iterate.scale);
  }

  /// Computes the dual variables as used for the gap, and adds the contributions of the edges to
  /// gap and objective.
  void count_edges(std::int32_t count, const double* dual, const Iterate<T>& iterate,
                   double* counted, Quality& quality) const noexcept {
    const double largest = iterate.largest * iterate.scale;
    for (std::int32_t e = 0; e < count; ++e) {
      counted[e] = counted_dual<T>(dual[e], lam_[e], rise_[e], largest);
    }
    quality.gap +=
        sum_in_lanes(count, [&](auto e) { return edge_gap(counted[e], lam_[e], rise_[e]); });
    quality.objective +=
        sum_in_lanes(count, [&](auto e) { return edge_objective(lam_[e], rise_[e]); });
  }

  std::int32_t height_;
  std::int32_t width_;
  // Of the edges after the pixels of a row, along it or to the next row:
  double* lam_;
  double* rise_;
  double* u_;
  double* v_;
  double* right_;  // u as used for the gap, from the edge before the row's first pixel on
  double* above_;  // v as used for the gap, before a row and after it
  double* below_;
};

}  // namespace tautstring::detail
