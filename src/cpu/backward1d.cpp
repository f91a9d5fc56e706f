// Backward on the CPU: sums of the incoming gradient over segments.
#include <algorithm>
#include <cmath>

#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/row_io.h"
#include "cpu/segment_walk.h"
#include "cpu/solved_row.h"
#include "step/segment.h"

namespace tautline::detail {
namespace {

class BackwardWorker {
 public:
  BackwardWorker(const Backward1d& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  void operator()(std::int64_t row) noexcept {
    const Rows& rows = call_.solved.rows;
    const std::int32_t n = rows.n;
    const SolvedRow solved = load_solved_row(call_.solved, row, s_);
    double* gradient = s_.x;
    load_row(call_.grad_y.row(rows, row), n, gradient);

    // Sharpening is 2 x - prox(x) where there is a sample, prox(x) where there is
    // none: go back through the prox first, then add the 2 x.
    const bool sharpen = call_.solved.mode == Mode::sharp;
    if (sharpen) {
      for (std::int32_t i = 0; i < n; ++i) {
        if (solved.is_present(i)) gradient[i] = -gradient[i];
      }
    }

    double* grad_x = s_.y;
    double* grad_lam = s_.lam;
    const bool per_edge = call_.grad_lam.size > 1;
    std::fill(grad_lam, grad_lam + n, 0.0);
    double row_lam = 0;
    for_each_segment(solved.codes, n, [&](const SegmentSpan& s) {
      const double mean = weighted_mean(solved, gradient, s, grad_x);
      if (per_edge) {
        if (s.right_sign != 0) grad_lam[s.last - 1] += mean * s.right_sign;
        if (s.left_sign != 0) grad_lam[s.first - 1] -= mean * s.left_sign;
      } else {
        row_lam += mean * (s.right_sign - s.left_sign);
      }
      if (call_.grad_weight.given) {
        for (std::int32_t i = s.first; i < s.last; ++i) {
          s_.compact[i] = mean * solved.residual(i, sharpen);
        }
      }
    });
    if (sharpen) {
      for (std::int32_t i = 0; i < n; ++i) {
        if (solved.is_present(i)) grad_x[i] -= 2 * gradient[i];
      }
    }

    if (call_.grad_x.given) store_row(call_.grad_x.row(rows, row), n, grad_x);
    if (call_.grad_weight.given) store_row(call_.grad_weight.row(rows, row), n, s_.compact);
    if (call_.grad_lam.given) {
      if (!per_edge) grad_lam[0] = row_lam;
      store_row(call_.grad_lam.row(rows, row), call_.grad_lam.size, grad_lam);
    }
  }

 private:
  /// m = sum of the gradient / sum of the weights, and weight * m into grad_x.
  static double weighted_mean(const SolvedRow& solved, const double* gradient, const SegmentSpan& s,
                              double* grad_x) {
    if (solved.weight == nullptr) {
      double residual = 0;
      for (std::int32_t i = s.first + 1; i < s.last; ++i)
        residual += gradient[i] - gradient[s.first];
      const double mean =
          segment_value(gradient[s.first], residual, 0.0, static_cast<double>(s.last - s.first));
      std::fill(grad_x + s.first, grad_x + s.last, mean);
      return mean;
    }
    double sum = 0;
    double width = 0;
    std::int32_t present = 0;
    for (std::int32_t i = s.first; i < s.last; ++i) {
      sum += gradient[i];
      width += solved.weight[i];
      present += solved.weight[i] != 0 ? 1 : 0;
    }
    const double mean = width > 0 ? sum / width : 0.0;  // 0: a row without a sample
    for (std::int32_t i = s.first; i < s.last; ++i) {
      // One sample alone gets the sum itself: weight * (sum / weight) would round.
      grad_x[i] = solved.weight[i] == 0 ? 0.0 : present == 1 ? sum : solved.weight[i] * mean;
    }
    return mean;
  }

  const Backward1d& call_;
  RowScratch s_;
};

}  // namespace

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  return for_each_row<BackwardWorker>(call, solved.rows, solved.weight.given, context);
}

}  // namespace tautline::detail
