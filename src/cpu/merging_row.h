// A row whose segments merge one after the other as lambda grows.
//
// A segment with the weight W and the weighted sum T of its samples has the value
//   (T + lam q) / W,   q = sign of the jump to its right - sign of the jump to its left,
// and adds lam^2 q^2 / W to the loss sum_i weight_i (y_i - x_i)^2 of its samples around their mean.
// Signs do not change while a jump is open, so a jump closes at the lambda where the values of its
// two segments meet. That depends on these two and on the next jumps, so a merger changes the
// lambda of two other jumps only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/edge_queue.h"
#include "step/row/accurate_sum.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

class MergingRow {
 public:
  MergingRow(Scratch& scratch, std::int32_t n) noexcept
      : sums_(scratch.take<AccurateSum>(n)),
        widths_(scratch.take<double>(n)),
        signs_(scratch.take<std::int16_t>(n)),
        left_(scratch.take<std::int32_t>(n)),
        right_(scratch.take<std::int32_t>(n)),
        queue_(scratch, n) {}

  /// Starts at lambda 0. `weight` is null if all weights are 1; none is 0. Equal neighbours are one
  /// segment from the start. Values that differ by less than `unit` are equal.
  void start(const double* x, const double* weight, std::int32_t n, double unit) noexcept {
    count_ = n;
    segments_ = 0;
    unit_ = unit;
    lam_ = 0;
    fixed_loss_ = moving_loss_ = AccurateSum();
    queue_.clear();
    std::int32_t last = 0;  // segment
    for (std::int32_t i = 0; i < n; ++i) {
      const double width = weight == nullptr ? 1 : weight[i];
      if (i > 0 && x[i] == x[i - 1]) {
        sums_[last].add_product(width, x[i]);
        widths_[last] += width;
        continue;
      }
      sums_[i] = AccurateSum();
      sums_[i].add_product(width, x[i]);
      widths_[i] = width;
      signs_[i] = static_cast<std::int16_t>(i == 0 ? 0 : x[i] > x[i - 1] ? 1 : -1);
      left_[i] = last;
      right_[last] = i;
      last = i;
      ++segments_;
    }
    right_[last] = n;
    add_moving_loss(0, 1);
    for (std::int32_t i = right_[0]; i < n; i = right_[i]) {
      add_moving_loss(i, 1);
      queue_.add(i, closing_lam(i));
    }
    queue_.order();
  }

  [[nodiscard]] bool is_one_segment() const noexcept { return queue_.is_empty(); }
  [[nodiscard]] std::int32_t segments() const noexcept { return segments_; }
  /// The lambda of the last merger, and of the next one. Rounding may make a jump that closes at
  /// the same time as another one seem to close sooner.
  [[nodiscard]] double lam() const noexcept { return lam_; }
  [[nodiscard]] double next_lam() const noexcept {
    return std::max(lam_, queue_.lam(queue_.first()));
  }

  /// The loss at a lambda from that of the last merger to that of the next one.
  [[nodiscard]] double loss_at(double lam) const noexcept {
    return fixed_loss_.value() + lam * lam * moving_loss_.value();
  }
  /// The lambda at which this would be the loss.
  [[nodiscard]] double lam_of(double loss) const noexcept {
    return std::sqrt((loss - fixed_loss_.value()) / moving_loss_.value());
  }

  /// Closes the next jump, and returns the sample at its right.
  std::int32_t merge() noexcept {
    const std::int32_t closed = queue_.first();
    lam_ = next_lam();
    queue_.remove(closed);
    const std::int32_t merged = left_[closed];
    add_moving_loss(merged, -1);
    add_moving_loss(closed, -1);
    const double gap = gap_of(closed).value();
    const double both = widths_[merged] + widths_[closed];
    fixed_loss_.add(gap / widths_[merged] * (gap / widths_[closed]) / both);
    sums_[merged].add(sums_[closed]);
    widths_[merged] = both;
    right_[merged] = right_[closed];
    --segments_;
    if (right_[merged] < count_) {
      left_[right_[merged]] = merged;
      queue_.change(right_[merged], closing_lam(right_[merged]));
    }
    if (merged > 0) queue_.change(merged, closing_lam(merged));
    add_moving_loss(merged, 1);
    return closed;
  }

 private:
  /// The sign of the jump to the right of segment i.
  [[nodiscard]] int sign_after(std::int32_t i) const noexcept {
    return right_[i] < count_ ? signs_[right_[i]] : 0;
  }
  void add_moving_loss(std::int32_t i, int times) noexcept {
    const int q = sign_after(i) - signs_[i];
    moving_loss_.add(times * q * q / widths_[i]);
  }
  /// How far the mean of segment i is from that of the one before, in the direction of the jump,
  /// times both widths.
  [[nodiscard]] AccurateSum gap_of(std::int32_t i) const noexcept {
    const std::int32_t before = left_[i];
    AccurateSum gap;
    gap.add_product(sums_[i], signs_[i] * widths_[before]);
    gap.add_product(sums_[before], -signs_[i] * widths_[i]);
    return gap;
  }

  /// The lambda at which the jump to segment i closes. Infinite while both values move alike.
  [[nodiscard]] double closing_lam(std::int32_t i) const noexcept {
    const std::int32_t before = left_[i];
    const int sign = signs_[i];
    const double gap = gap_of(i).value();
    // How fast the two values approach each other: 0, 1 or 2 over their widths.
    const double rate =
        (1 - sign * sign_after(i)) * widths_[before] + (1 - sign * signs_[before]) * widths_[i];
    if (rate == 0) {
      // Equal values: jumps that close at the same lambda do so one after the other.
      const bool is_closed = gap <= unit_ * widths_[before] * widths_[i];
      return is_closed ? lam_ : std::numeric_limits<double>::infinity();
    }
    return std::max(gap / rate, lam_);
  }

  std::int32_t count_ = 0;
  std::int32_t segments_ = 0;
  double lam_ = 0;
  double unit_ = 0;
  AccurateSum fixed_loss_;   // around the means of the segments
  AccurateSum moving_loss_;  // over lam^2
  // Of each segment, at the place of its first sample.
  AccurateSum* sums_;
  double* widths_;
  std::int16_t* signs_;  // of the jump to its left
  std::int32_t* left_;   // the segment before
  std::int32_t* right_;  // the segment after; the number of samples if there is none
  EdgeQueue queue_;      // of the jumps, by the segment at their right
};

}  // namespace tautstring::detail
