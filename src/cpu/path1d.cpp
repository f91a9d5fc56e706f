// The lambdas at which the jumps of rows close.
#include <algorithm>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/loaded_row.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

class PathWorker {
 public:
  PathWorker(const Path1d& call, Scratch& scratch) noexcept
      : call_(call),
        row_(scratch, call.rows.n, call.weight.given),
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
    if (row_.load(call_.x, call_.weight, call_.rows, row)) {
      std::fill_n(lams_, edges, 0.0);
      MergingRow& merging = row_.start();
      while (!merging.is_one_segment()) {
        const std::int32_t closed = row_.place_of(merging.merge());
        lams_[closed - 1] = row_.unscaled_lam(merging.lam());
      }
    } else {
      std::fill_n(lams_, edges, std::numeric_limits<double>::quiet_NaN());
    }
    store_row(call_.lams.row(call_.rows, row), edges, lams_);
  }

  const Path1d& call_;
  LoadedRow row_;
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
