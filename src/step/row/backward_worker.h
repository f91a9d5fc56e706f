// The gradients of single rows, with or without data weights.
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

namespace tautstring::detail {

class BackwardWorker {
 public:
  TAUTSTRING_HOST_DEVICE BackwardWorker(const Backward1d& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const Rows& rows = call_.solved.rows;
    const std::int32_t n = rows.n;
    const SolvedRow solved = load_solved_row(call_.solved, row, s_);
    load_row(call_.grad_y.row(rows, row), n, s_.x);

    double* grad_lam = s_.lam;
    const bool per_edge = call_.grad_lam.size > 1;
    std::fill(grad_lam, grad_lam + n, 0.0);
    double row_lam = 0;
    for_each_segment(solved.codes, n, [&](const SegmentSpan& s) {
      const double scaled_mean = spread(solved, s);
      const double mean = scaled_mean * solved.weight_scale;
      if (per_edge) {
        if (s.right_sign != 0) grad_lam[s.last - 1] += mean * s.right_sign;
        if (s.left_sign != 0) grad_lam[s.first - 1] -= mean * s.left_sign;
      } else {
        row_lam += mean * (s.right_sign - s.left_sign);
      }
      if (call_.grad_weight.given) {
        for (std::int32_t i = s.first; i < s.last; ++i) {
          const double residual = solved.residual(i);
          // The difference of two large numbers may overflow although its product with the mean is
          // finite.
          s_.compact[i] =
              std::isfinite(residual) ? mean * residual : mean * solved.residual(i, 0.5) * 2;
        }
      }
    });

    if (call_.grad_x.given) store_row(call_.grad_x.row(rows, row), n, s_.y);
    if (call_.grad_weight.given) store_row(call_.grad_weight.row(rows, row), n, s_.compact);
    if (call_.grad_lam.given) {
      if (!per_edge) grad_lam[0] = row_lam;
      store_row(call_.grad_lam.row(rows, row), call_.grad_lam.size, grad_lam);
    }
  }

 private:
  /// Stores the gradient of x on a segment in scratch.y and returns the gradient of the segment's
  /// value, divided by its scaled weights.
  ///
  /// Sharpening is 2 x - prox(x) where there is a sample and prox(x) where there is none: the prox
  /// then receives -g or g, and x also 2 g.
  TAUTSTRING_HOST_DEVICE double spread(const SolvedRow& solved, const SegmentSpan& s) noexcept {
    const double* g = s_.x;
    double* grad_x = s_.y;
    AccurateSum sum;
    AccurateSum width;
    std::int32_t present = 0;
    for (std::int32_t i = s.first; i < s.last; ++i) {
      sum.add(solved.sharp && solved.is_present(i) ? -g[i] : g[i]);
      width.add(solved.weight == nullptr ? 1 : solved.weight[i]);
      present += solved.is_present(i) ? 1 : 0;
    }
    const double mean = present > 0 ? sum.value() / width.value() : 0;  // 0: no sample in the row
    for (std::int32_t i = s.first; i < s.last; ++i) {
      // A single sample gets the sum itself: weight * (sum / weight) would round.
      const double through_prox = solved.weight == nullptr ? mean
                                  : present == 1           ? sum.value()
                                                           : solved.weight[i] * mean;
      grad_x[i] = !solved.is_present(i)   ? 0
                  : s.last - s.first == 1 ? g[i]  // its own value, in both modes
                  : solved.sharp          ? 2 * g[i] + through_prox
                                          : through_prox;
    }
    return mean;
  }

  const Backward1d& call_;
  RowScratch s_;
};

}  // namespace tautstring::detail
