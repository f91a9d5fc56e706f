// Backward on the CPU: sums of the incoming gradient over segments, by the vector
// code where there are no data weights.
#include <algorithm>

#include "cpu/accurate_sum.h"
#include "cpu/cpu_backend.h"
#include "cpu/gradient_batch.h"
#include "cpu/parallel.h"
#include "cpu/row_io.h"
#include "cpu/segment_walk.h"
#include "cpu/solved_row.h"

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
        for (std::int32_t i = s.first; i < s.last; ++i) s_.compact[i] = mean * solved.residual(i);
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
  /// Puts the gradient of x on a segment into scratch.y and returns what reaches
  /// the segment's value, divided by its scaled weights.
  ///
  /// Sharpening is 2 x - prox(x) where there is a sample and prox(x) where there
  /// is none: the prox then gets -g or g, and x also 2 g.
  double spread(const SolvedRow& solved, const SegmentSpan& s) noexcept {
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
      // One sample alone gets the sum itself: weight * (sum / weight) would round.
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

template <class T>
Status backward_in(const Backward1d& call, const Context& context) noexcept {
  const Rows& rows = call.solved.rows;
  const GradientLayout layout(rows, concurrency(context));
  const Sharing sharing(rows.count, layout.rows, context);
  const std::size_t task_bytes = GradientBatch<T>::scratch_bytes(layout, &call);
  const CallMemory memory(task_bytes * static_cast<std::size_t>(sharing.tasks), context);
  if (!memory.status().ok()) return memory.status();
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(sharing, memory.block(), task_bytes, context,
                 [&](Scratch& scratch) { return GradientBatch<T>(call, target, layout, scratch); });
  return {};
}

bool has_float64(const Backward1d& call) noexcept {
  const auto is_float64 = [](const auto& array) {
    return array.given && array.dtype == DType::float64;
  };
  return call.grad_y.dtype == DType::float64 || is_float64(call.grad_x) ||
         is_float64(call.grad_lam);
}

}  // namespace

std::size_t backward1d_workspace(const Rows& rows, const Context& context) noexcept {
  const GradientLayout layout(rows, concurrency(context));
  const Sharing sharing(rows.count, layout.rows, context);
  return GradientBatch<double>::scratch_bytes(layout, nullptr) *
         static_cast<std::size_t>(sharing.tasks);
}

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  const bool writes = solved.rows.n > 0 || call.grad_lam.given;  // lam may be one a row
  if (!writes) return {};
  if (solved.weight.given || solved.rows.n == 0) {
    return for_each_row<BackwardWorker>(call, solved.rows, solved.weight.given, context);
  }
  if (solved.rows.count == 0) return {};
  return has_float64(call) ? backward_in<double>(call, context) : backward_in<float>(call, context);
}

}  // namespace tautline::detail
