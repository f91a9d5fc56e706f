// The forward derivative of single rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend.h"
#include "step/host_device.h"
#include "step/row/accurate_sum.h"
#include "step/row/row_io.h"
#include "step/row/scratch.h"
#include "step/row/segment_walk.h"
#include "step/row/solved_row.h"
#include "step/segment.h"

namespace tautstring::detail {

class JvpWorker {
 public:
  TAUTSTRING_HOST_DEVICE JvpWorker(const Jvp1d& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const Rows& rows = call_.solved.rows;
    const std::int32_t n = rows.n;
    const SolvedRow solved = load_solved_row(call_.solved, row, s_);
    load_or_zero(call_.tangent_x, row, n, s_.x);
    load_or_zero(call_.tangent_lam, row, n - 1, s_.lam);
    if (solved.weight != nullptr) load_or_zero(call_.tangent_weight, row, n, s_.compact);

    for_each_segment(solved.codes, n, [&](const SegmentSpan& s) {
      double value = segment_tangent(solved, s, 1);
      // Where sums overflow, they are computed again in a smaller scale: what underflows there is
      // negligible in comparison.
      if (!std::isfinite(value)) value = segment_tangent(solved, s, kSmallTangents);
      for (std::int32_t i = s.first; i < s.last; ++i) {
        s_.y[i] = solved.sharp && solved.is_present(i) ? mirror(s_.x[i], value) : value;
      }
    });
    store_row(call_.tangent_y.row(rows, row), n, s_.y);
  }

 private:
  static constexpr double kSmallTangents = 0x1p-300;

  /// `scale` is a power of two that all tangents and residuals are multiplied by on the way.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double segment_tangent(const SolvedRow& solved,
                                                              const SegmentSpan& s,
                                                              double scale) const noexcept {
    const double* dx = s_.x;
    const double borders =
        border_term<double>(s_.lam, s.first - 1, s.left_sign, s.last - 1, s.right_sign);
    const bool alone = s.last - s.first == 1 && solved.weight == nullptr;
    if (alone && borders == 0) return dx[s.first];  // bit for bit
    AccurateSum sum;
    AccurateSum width;
    sum.add_product(borders * scale, solved.weight_scale);
    for (std::int32_t i = s.first; i < s.last; ++i) {
      const double weight = solved.weight == nullptr ? 1 : solved.weight[i];
      if (weight != 0) sum.add_product(weight, dx[i] * scale);
      width.add(weight);
      if (solved.weight != nullptr) {
        sum.add_product(s_.compact[i] * solved.weight_scale, solved.residual(i, scale));
      }
    }
    return width.value() > 0 ? sum.value() / width.value() / scale : 0;  // 0: no sample in the row
  }

  TAUTSTRING_HOST_DEVICE void load_or_zero(const ConstRowArray& array, std::int64_t row,
                                           std::int32_t count, double* out) const noexcept {
    if (array.given && array.size > 0) {
      load_row(array.row(call_.solved.rows, row), count, out);
    } else {
      std::fill(out, out + std::max(count, 0), 0.0);
    }
  }

  const Jvp1d& call_;
  RowScratch s_;
};

}  // namespace tautstring::detail
