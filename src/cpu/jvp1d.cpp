// The forward derivative on the CPU: sums of the tangents over segments.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/row_io.h"
#include "cpu/segment_walk.h"
#include "cpu/solved_row.h"
#include "step/segment.h"

namespace tautline::detail {
namespace {

class JvpWorker {
 public:
  JvpWorker(const Jvp1d& call, const RowScratch& scratch) noexcept : call_(call), s_(scratch) {}

  void operator()(std::int64_t row) noexcept {
    const Rows& rows = call_.solved.rows;
    const std::int32_t n = rows.n;
    const bool sharpen = call_.solved.mode == Mode::sharp;
    const SolvedRow solved = load_solved_row(call_.solved, row, s_);
    double* dx = s_.x;
    double* dy = s_.y;
    double* dlam = s_.lam;
    double* dweight = s_.compact;
    load_or_zero(call_.tangent_x, row, n, dx);
    load_or_zero(call_.tangent_lam, row, n - 1, dlam);
    if (solved.weight != nullptr) load_or_zero(call_.tangent_weight, row, n, dweight);

    for_each_segment(solved.codes, n, [&](const SegmentSpan& s) {
      const double borders =
          border_term<double>(dlam, s.first - 1, s.left_sign, s.last - 1, s.right_sign);
      double value = 0;
      if (solved.weight == nullptr) {
        double residual = 0;
        for (std::int32_t i = s.first + 1; i < s.last; ++i) residual += dx[i] - dx[s.first];
        value =
            segment_value(dx[s.first], residual, borders, static_cast<double>(s.last - s.first));
      } else {
        double sum = borders;
        double width = 0;
        for (std::int32_t i = s.first; i < s.last; ++i) {
          if (solved.weight[i] != 0) sum += solved.weight[i] * dx[i];
          sum += dweight[i] * solved.residual(i, sharpen);
          width += solved.weight[i];
        }
        value = width > 0 ? sum / width : 0.0;
      }
      std::fill(dy + s.first, dy + s.last, value);
    });
    if (sharpen) {
      for (std::int32_t i = 0; i < n; ++i) {
        if (solved.is_present(i)) dy[i] = dx[i] + (dx[i] - dy[i]);
      }
    }
    store_row(call_.tangent_y.row(rows, row), n, dy);
  }

 private:
  void load_or_zero(const ConstRowArray& array, std::int64_t row, std::int32_t count,
                    double* out) const {
    if (array.given && array.size > 0) {
      load_row(array.row(call_.solved.rows, row), count, out);
    } else {
      std::fill(out, out + std::max(count, 0), 0.0);
    }
  }

  const Jvp1d& call_;
  RowScratch s_;
};

}  // namespace

Status jvp1d(const Jvp1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  return for_each_row<JvpWorker>(call, solved.rows, solved.weight.given, context);
}

}  // namespace tautline::detail
