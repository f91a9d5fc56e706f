// A row of a call, loaded and scaled so that its segments can be merged.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/merging_row.h"
#include "step/row/reduction_workers.h"

namespace tautstring::detail {

class LoadedRow {
 public:
  LoadedRow(Scratch& scratch, std::int32_t n, bool weighted) noexcept
      : memory_(scratch, n, weighted), merging_(scratch, n) {}

  /// Returns whether all present samples are finite, and there are some.
  bool load(const ConstRowArray& x, const ConstRowArray& weight, const Rows& rows,
            std::int64_t row) noexcept {
    scaled_ = load_scaled_row(x, weight, rows, row, memory_);
    if (!std::isfinite(scaled_.size) || !scaled_.any) return false;
    scale_ = choose_scale(scaled_.size);
    multiply(memory_.x, rows.n, scale_);
    count_ = rows.n;
    if (scaled_.weights != nullptr) leave_out_missing(rows.n);
    // Only differences count. With a large offset, sums times widths would lose their digits.
    for (std::int32_t i = count_; i-- > 0;) memory_.x[i] -= memory_.x[0];
    return true;
  }

  /// The present samples, scaled and relative to the first of them.
  [[nodiscard]] std::int32_t count() const noexcept { return count_; }
  [[nodiscard]] double sample(std::int32_t i) const noexcept { return memory_.x[i]; }
  [[nodiscard]] double weight(std::int32_t i) const noexcept {
    return scaled_.weights == nullptr ? 1 : memory_.compact[i];
  }
  /// The place of a present sample in the row.
  [[nodiscard]] std::int32_t place_of(std::int32_t i) const noexcept {
    return scaled_.weights == nullptr ? i : memory_.present[i];
  }

  [[nodiscard]] MergingRow& start() noexcept {
    const double unit = std::numeric_limits<double>::epsilon() * scaled_.size * scale_;
    merging_.start(memory_.x, scaled_.weights == nullptr ? nullptr : memory_.compact, count_, unit);
    return merging_;
  }

  [[nodiscard]] double unscaled_lam(double lam) const noexcept {
    return unscaled(lam, scale_, scaled_.weight_scale);
  }
  /// The standard deviation of a sample of weight 1, to and from the scale of the loaded ones.
  [[nodiscard]] double scaled_sigma(double sigma) const noexcept {
    return sigma * scale_ * std::sqrt(scaled_.weight_scale);
  }
  [[nodiscard]] double unscaled_sigma(double sigma) const noexcept {
    return sigma / scale_ / std::sqrt(scaled_.weight_scale);
  }

  /// Room for as many numbers as the row has samples.
  [[nodiscard]] double* spare() noexcept { return memory_.y; }

 private:
  void leave_out_missing(std::int32_t n) noexcept {
    count_ = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      if (scaled_.weights[i] == 0) continue;
      memory_.x[count_] = memory_.x[i];
      memory_.compact[count_] = scaled_.weights[i];
      memory_.present[count_++] = i;
    }
  }

  RowScratch memory_;
  MergingRow merging_;
  ScaledRow scaled_;
  double scale_ = 1;
  std::int32_t count_ = 0;
};

}  // namespace tautstring::detail
