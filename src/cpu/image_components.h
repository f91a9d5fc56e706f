// The components of a 2D solution: sets of pixels that the last passes over rows and columns, taken
// together, do not separate. A union-find over the ties of both passes; no values are compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend.h"
#include "step/row/scratch.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

class Components {
 public:
  Components(Scratch& scratch, const Images& images) noexcept
      : height_(images.height),
        width_(images.width),
        pixels_(std::int64_t{height_} * width_),
        first_(scratch.take<std::int64_t>(pixels_)),
        size_(scratch.take<double>(pixels_)),
        mean_(scratch.take<double>(pixels_)) {}

  /// Finds the components from the codes of an image's rows and columns, which must stay valid:
  /// they are read again later.
  void find(const std::uint32_t* row_codes, const std::uint32_t* column_codes) noexcept {
    row_codes_ = row_codes;
    column_codes_ = column_codes;
    for (std::int64_t i = 0; i < pixels_; ++i) first_[i] = i;
    for (std::int32_t r = 0; r < height_; ++r) {
      for (std::int32_t c = 0; c < width_; ++c) {
        if (c > 0 && row_code(r, c) == Code::continues) join(at(r, c - 1), at(r, c));
        if (r > 0 && column_code(r, c) == Code::continues) join(at(r - 1, c), at(r, c));
      }
    }
    // A pixel never points to a later one, so the pixel that it points to is final.
    for (std::int64_t i = 0; i < pixels_; ++i) first_[i] = first_[first_[i]];
  }

  /// The first pixel of a pixel's component.
  [[nodiscard]] std::int64_t first_of(std::int64_t i) const noexcept { return first_[i]; }

  /// Sums value_of(i) over the components. Jumps may be added before the means are taken.
  template <class ValueOf>
  void sum(const ValueOf& value_of) noexcept {
    std::fill_n(size_, pixels_, 0.0);
    std::fill_n(mean_, pixels_, -0.0);  // a pixel alone keeps its bits, those of -0 too
    for (std::int64_t i = 0; i < pixels_; ++i) {
      size_[first_[i]] += 1;
      mean_[first_[i]] += value_of(i);
    }
  }
  /// Adds lam_of(r, c) for each edge after pixel (r, c), along rows or columns, at which there is a
  /// jump: it lifts the lower component and lowers the upper one.
  template <class LamOf>
  void add_jumps(bool along_rows, const LamOf& lam_of) noexcept {
    const std::int32_t last_row = height_ - (along_rows ? 0 : 1);
    const std::int32_t last_column = width_ - (along_rows ? 1 : 0);
    for (std::int32_t r = 0; r < last_row; ++r) {
      for (std::int32_t c = 0; c < last_column; ++c) {
        const int sign = jump_behind(along_rows, r, c);
        if (sign == 0) continue;
        const std::int64_t here = first_[at(r, c)];
        const std::int64_t there = first_[next(along_rows, r, c)];
        if (here == there) continue;
        const double lam = sign * lam_of(r, c);
        if (lam == 0) continue;
        mean_[here] += lam;
        mean_[there] -= lam;
      }
    }
  }
  void take_means() noexcept {
    for (std::int64_t i = 0; i < pixels_; ++i) {
      if (first_[i] == i) mean_[i] /= size_[i];
    }
  }
  [[nodiscard]] double mean(std::int64_t i) const noexcept { return mean_[first_[i]]; }

  /// The direction of the jump after a pixel, and the difference of the means across it.
  [[nodiscard]] int jump_behind(bool along_rows, std::int32_t r, std::int32_t c) const noexcept {
    return jump_sign(along_rows ? row_code(r, c + 1) : column_code(r + 1, c));
  }
  [[nodiscard]] double rise_behind(bool along_rows, std::int32_t r, std::int32_t c) const noexcept {
    return mean(next(along_rows, r, c)) - mean(at(r, c));
  }

 private:
  [[nodiscard]] std::int64_t at(std::int32_t r, std::int32_t c) const noexcept {
    return std::int64_t{r} * width_ + c;
  }
  [[nodiscard]] std::int64_t next(bool along_rows, std::int32_t r, std::int32_t c) const noexcept {
    return at(r, c) + (along_rows ? 1 : width_);
  }
  [[nodiscard]] Code row_code(std::int32_t r, std::int32_t c) const noexcept {
    return code_at(row_codes_ + r * partition_words(width_), c);
  }
  [[nodiscard]] Code column_code(std::int32_t r, std::int32_t c) const noexcept {
    return code_at(column_codes_ + c * partition_words(height_), r);
  }

  std::int64_t root(std::int64_t i) noexcept {
    while (first_[i] != i) {
      first_[i] = first_[first_[i]];
      i = first_[i];
    }
    return i;
  }
  /// The first pixel of a component is its root, whatever the order: one result for all.
  void join(std::int64_t a, std::int64_t b) noexcept {
    a = root(a);
    b = root(b);
    if (a > b) std::swap(a, b);
    first_[b] = a;
  }

  std::int32_t height_;
  std::int32_t width_;
  std::int64_t pixels_;
  std::int64_t* first_;
  double* size_;  // of a component, at its first pixel; likewise its sum, then its mean
  double* mean_;
  const std::uint32_t* row_codes_ = nullptr;
  const std::uint32_t* column_codes_ = nullptr;
};

}  // namespace tautstring::detail
