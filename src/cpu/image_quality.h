// How good a 2D result is: its objective, and how far above the optimum that is at most.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend.h"
#include "step/row/row_io.h"
#include "step/row/scratch.h"

namespace tautline::detail {

struct Quality {
  double gap = 0;
  double objective = 0;
};

/// The lams of the edges along the rows, or along the columns, of one image.
class EdgeLams {
 public:
  EdgeLams(const ImageLam& lam, const Images& images, std::int64_t image) noexcept
      : number_(lam.number), given_(lam.array.given) {
    if (given_) span_ = lam.array.image(images, image);
  }

  /// Of the edges behind the first `count` pixels of row r.
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
  /// Whether those of so many rows of so many edges are.
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

/// An iterate: P = x - column_input and Q = column_input - y are sums of what the edges along rows
/// and along columns hold, their dual variables u and v.
template <class T>
struct Iterate {
  const T* x;
  const T* column_input;
  const T* y;
  double largest;  // |x|
};

/// Of any Y, by an iterate's u and v within their bounds:
///   gap = sum over edges (lam |rise| - u rise) + 1/2 |P + Q - (X - Y)|^2.
/// All terms are >= 0, and whatever u and v are the objective at Y is no further above the optimum.
/// So where one is at its bound but for rounding it is taken for that, which is paid for by what it
/// then lacks in P or Q.
template <class T>
class ImageQuality {
 public:
  ImageQuality(Scratch& scratch, const Images& images) noexcept
      : height_(images.height),
        width_(images.width),
        row_lam_(scratch.take<double>(width_)),
        column_lam_(scratch.take<double>(width_)),
        v_(scratch.take<double>(width_)),
        v_counted_(scratch.take<double>(width_)) {}

  [[nodiscard]] Quality of(const T* y, const Iterate<T>& iterate, const EdgeLams& row_lam,
                           const EdgeLams& column_lam) const noexcept {
    Quality quality;
    std::fill_n(v_, width_, 0.0);
    std::fill_n(v_counted_, width_, 0.0);
    std::int64_t i = 0;
    for (std::int32_t r = 0; r < height_; ++r) {
      row_lam.load(r, width_ - 1, row_lam_);
      if (r + 1 < height_) column_lam.load(r, width_, column_lam_);
      double u = 0;
      double u_counted = 0;  // of the edge before
      for (std::int32_t c = 0; c < width_; ++c, ++i) {
        const auto x = static_cast<double>(iterate.x[i]);
        const auto between = static_cast<double>(iterate.column_input[i]);
        const auto value = static_cast<double>(y[i]);
        u -= x - between;
        v_[c] -= between - static_cast<double>(iterate.y[i]);
        double right = 0;
        double below = 0;
        if (c + 1 < width_) {
          right = count(u, row_lam_[c], static_cast<double>(y[i + 1]) - value, iterate, quality);
        }
        if (r + 1 < height_) {
          below = count(v_[c], column_lam_[c], static_cast<double>(y[i + width_]) - value, iterate,
                        quality);
        }
        const double change = x - value;
        const double residual = (u_counted - right) + (v_counted_[c] - below) - change;
        quality.gap += residual * residual / 2;
        quality.objective += change * change / 2;
        u_counted = right;
        v_counted_[c] = below;
      }
    }
    return quality;
  }

 private:
  /// The dual variable of an edge as it is counted; adds what the edge has of gap and objective.
  [[nodiscard]] static double count(double dual, double lam, double rise, const Iterate<T>& iterate,
                                    Quality& quality) noexcept {
    const double within = std::clamp(dual, -lam, lam);
    if (rise == 0) return within;
    const double height = std::abs(rise);
    const double bound = rise > 0 ? lam : -lam;
    const double off = std::abs(bound - within);
    quality.objective += lam * height;
    // More than a quarter of the rise would cost more than it saves.
    if (off <= kRounding * std::max(lam, iterate.largest) && off <= height / 4) return bound;
    quality.gap += off * height;
    return within;
  }

  static constexpr double kRounding = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;

  std::int32_t height_;
  std::int32_t width_;
  double* row_lam_;
  double* column_lam_;
  double* v_;
  double* v_counted_;
};

}  // namespace tautline::detail
