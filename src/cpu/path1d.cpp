// The lambdas at which the jumps of rows close.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/merging_row.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/reduction_workers.h"

namespace tautstring::detail {
namespace {

class PathWorker {
 public:
  PathWorker(const Path1d& call, Scratch& scratch) noexcept
      : call_(call),
        row_(scratch, call.rows.n, call.weight.given),
        merging_(scratch, call.rows.n),
        lams_(scratch.take<double>(call.rows.n)) {}

  static std::size_t bytes(const Rows& rows, bool weighted) noexcept {
    Path1d call;
    call.rows = rows;
    call.weight.given = weighted;
    Scratch scratch(nullptr);
    PathWorker(call, scratch);
    return scratch.used();
  }

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    for (std::int64_t row = first; row < last; ++row) find_lams(row);
  }

 private:
  void find_lams(std::int64_t row) noexcept {
    const std::int32_t edges = call_.rows.n - 1;
    const ScaledRow scaled = load_scaled_row(call_.x, call_.weight, call_.rows, row, row_);
    if (!std::isfinite(scaled.size) || !scaled.any) {
      std::fill_n(lams_, edges, std::numeric_limits<double>::quiet_NaN());
    } else {
      std::fill_n(lams_, edges, 0.0);
      merge_all(scaled);
    }
    store_row(call_.lams.row(call_.rows, row), edges, lams_);
  }

  void merge_all(const ScaledRow& scaled) noexcept {
    const std::int32_t n = call_.rows.n;
    const double scale = choose_scale(scaled.size);
    multiply(row_.x, n, scale);
    std::int32_t present = n;
    if (scaled.weights != nullptr) {
      present = 0;
      for (std::int32_t i = 0; i < n; ++i) {
        if (scaled.weights[i] == 0) continue;
        row_.x[present] = row_.x[i];
        row_.compact[present] = scaled.weights[i];
        row_.present[present++] = i;
      }
    }
    // Only differences count. With a large offset, sums times widths would lose their digits.
    for (std::int32_t i = present; i-- > 0;) row_.x[i] -= row_.x[0];
    const double unit = std::numeric_limits<double>::epsilon() * scaled.size * scale;
    merging_.start(row_.x, scaled.weights == nullptr ? nullptr : row_.compact, present, unit);
    while (!merging_.is_one_segment()) {
      const std::int32_t closed = merging_.merge();
      const std::int32_t sample = scaled.weights == nullptr ? closed : row_.present[closed];
      lams_[sample - 1] = unscaled(merging_.lam(), scale, scaled.weight_scale);
    }
  }

  const Path1d& call_;
  RowScratch row_;
  MergingRow merging_;
  double* lams_;  // one per edge
};

}  // namespace

std::size_t path1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept {
  return PathWorker::bytes(rows, weighted) *
         static_cast<std::size_t>(share_rows(rows, context).tasks);
}

Status path1d(const Path1d& call, const Context& context) noexcept {
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  const Rows& rows = call.rows;
  if (rows.count == 0 || rows.n < 2) return {};
  const CallMemory memory({path1d_workspace(rows, call.weight.given, context)}, context,
                          kWorkspacePath1d);
  if (!memory.status().ok()) return memory.status();
  for_each_chunk(share_rows(rows, context), memory.blocks().working,
                 PathWorker::bytes(rows, call.weight.given), context,
                 [&](Scratch& scratch) { return PathWorker(call, scratch); });
  return {};
}

}  // namespace tautstring::detail
