// Forward on the CPU: batches of rows on the fast path, single rows by the careful solver.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/long_row.h"
#include "cpu/parallel.h"
#include "cpu/row_batch.h"
#include "cpu/targets.h"
#include "cpu/value_checks.h"
#include "step/row/forward_worker.h"

namespace tautstring::detail {
namespace {

/// Solves the chunks of a batch: a tile of rows in the arithmetic of the storage type, then the
/// rows that need float64, then those that need the careful row solver.
template <class T>
class ForwardChunks {
 public:
  /// Both tiles share the same memory: the wide one is used after the other.
  ForwardChunks(const Forward1d& call, const CpuTarget& target, const TileLayout& layout,
                Scratch& scratch) noexcept
      : careful_(call, RowScratch(scratch, call.rows.n, false)),
        wide_rows_{scratch.take<std::int64_t>(layout.rows)},
        unusual_rows_{scratch.take<std::int64_t>(layout.rows)},
        tile_(scratch, layout),
        wide_tile_(scratch, layout),
        rows_(call, target, layout, tile_),
        wide_(call, target, layout, wide_tile_) {}

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    wide_rows_.count = 0;
    unusual_rows_.count = 0;
    rows_.solve(first, static_cast<std::int32_t>(last - first), wide_rows_, unusual_rows_);
    if (wide_rows_.count > 0) wide_.solve(wide_rows_, unusual_rows_);
    for (std::int32_t i = 0; i < unusual_rows_.count; ++i) careful_(unusual_rows_.rows[i]);
  }

  static std::size_t scratch_bytes(const TileLayout& layout) noexcept {
    Scratch scratch(nullptr);
    RowScratch(scratch, layout.n, false);
    scratch.take<std::int64_t>(layout.rows);
    scratch.take<std::int64_t>(layout.rows);
    return scratch.used() + TileScratch<double>::bytes(layout);  // not less than TileScratch<T>'s
  }

 private:
  ForwardWorker careful_;
  LeftRows wide_rows_;
  LeftRows unusual_rows_;
  TileScratch<T> tile_;
  TileScratch<double> wide_tile_;
  RowBatch<T> rows_;
  RowBatch<double> wide_;
};

template <class T>
void forward_in_tiles(const Forward1d& call, std::byte* block, const Context& context) noexcept {
  const TileLayout layout(call.rows, concurrency(context));
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(Sharing(call.rows.count, layout.rows, context), block,
                 ForwardChunks<T>::scratch_bytes(layout), context,
                 [&](Scratch& scratch) { return ForwardChunks<T>(call, target, layout, scratch); });
}

std::size_t tiles_bytes(const Rows& rows, const Context& context) noexcept {
  const TileLayout layout(rows, concurrency(context));
  const Sharing sharing(rows.count, layout.rows, context);
  return ForwardChunks<double>::scratch_bytes(layout) * static_cast<std::size_t>(sharing.tasks);
}

/// Rows with one call of LongRow each.
template <class T>
class LongRows {
 public:
  LongRows(const Forward1d& call, const CpuTarget& target, Scratch scratch, int tasks) noexcept
      : call_(call),
        target_(target),
        memory_(scratch),
        tasks_(tasks),
        scratch_(scratch, call.rows.n, tasks),
        rows_(call, target, scratch_) {}

  void solve(std::int64_t row, const Context& threads) noexcept {
    RowPath path = rows_.solve(row, threads);
    if (path == RowPath::wide) path = solve_wide(row, threads);
    if (path == RowPath::unusual && !is_interrupted(threads)) solve_carefully(row);
  }

  static std::size_t scratch_bytes(std::int32_t n, int tasks) noexcept {
    return std::max(LongRowScratch<double>::bytes(n, tasks), row_scratch_bytes(n, false));
  }

 private:
  // All solvers of a row share the same memory, as they are used one after the other. So these two
  // set theirs up anew for each row.
  [[nodiscard]] RowPath solve_wide(std::int64_t row, const Context& threads) noexcept {
    const LongRowScratch<double> scratch(memory_, call_.rows.n, tasks_);
    return LongRow<double>(call_, target_, scratch).solve(row, threads);
  }
  void solve_carefully(std::int64_t row) noexcept {
    Scratch scratch = memory_;
    ForwardWorker(call_, RowScratch(scratch, call_.rows.n, false))(row);
  }

  const Forward1d& call_;
  const CpuTarget& target_;
  Scratch memory_;
  int tasks_;
  LongRowScratch<T> scratch_;
  LongRow<T> rows_;
};

/// Whether threads share the rows (if there are enough of them) or work on each row together.
bool shares_rows(const Rows& rows, const Context& context) noexcept {
  return rows.count >= concurrency(context);
}

std::size_t long_rows_bytes(const Rows& rows, const Context& context) noexcept {
  const int threads = concurrency(context);
  return shares_rows(rows, context)
             ? LongRows<double>::scratch_bytes(rows.n, 1) * static_cast<std::size_t>(threads)
             : LongRows<double>::scratch_bytes(rows.n, threads);
}

template <class T>
void forward_long_rows(const Forward1d& call, std::byte* block, const Context& context) noexcept {
  const CpuTarget& target = chosen_cpu_target();
  if (shares_rows(call.rows, context)) {
    const Context one_thread = {.interrupt = context.interrupt};
    for_each_chunk(Sharing(call.rows.count, 1, context), block,
                   LongRows<double>::scratch_bytes(call.rows.n, 1), context, [&](Scratch& scratch) {
                     return [rows = LongRows<T>(call, target, scratch, 1), &one_thread](
                                std::int64_t row, std::int64_t) mutable {
                       rows.solve(row, one_thread);
                     };
                   });
    return;
  }
  LongRows<T> rows(call, target, Scratch(block), concurrency(context));
  for (std::int64_t row = 0; row < call.rows.count && !is_interrupted(context); ++row) {
    rows.solve(row, context);
  }
}

template <class T>
void forward_in(const Forward1d& call, std::byte* block, const Context& context) noexcept {
  if (call.rows.n > kLongRow) {
    forward_long_rows<T>(call, block, context);
  } else {
    forward_in_tiles<T>(call, block, context);
  }
}

/// Whether all rows need the careful row solver, which is known beforehand for some calls.
bool are_careful(const Forward1d& call) noexcept {
  const bool copies = !call.lam.array.given && call.lam.number == 0;
  const bool too_long = call.rows.n >= 1 << kStartCodeShift;
  return call.weight.given || copies || too_long;
}

std::size_t call_bytes(const Forward1d& call, const Context& context) noexcept {
  return are_careful(call) ? row_tasks_bytes(call.rows, call.weight.given, context)
                           : forward1d_workspace(call.rows, context);
}

void solve_rows(const Forward1d& call, std::byte* block, const Context& context) noexcept {
  if (are_careful(call)) {
    for_each_row<ForwardWorker>(call, call.rows, call.weight.given, block, context);
  } else if (call.x.dtype == DType::float64) {
    forward_in<double>(call, block, context);
  } else {
    forward_in<float>(call, block, context);
  }
}

}  // namespace

std::size_t forward1d_workspace(const Rows& rows, const Context& context) noexcept {
  return rows.n > kLongRow ? long_rows_bytes(rows, context) : tiles_bytes(rows, context);
}

Status forward1d(const Forward1d& call, const Context& context) noexcept {
  if (const Status status = check_lam(call.lam, call.rows); !status.ok()) return status;
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  if (call.rows.n == 0 || call.rows.count == 0) return {};  // nothing to write
  const CallMemory memory(call_bytes(call, context), context);
  if (!memory.status().ok()) return memory.status();
  solve_rows(call, memory.block(), context);
  return {};
}

void forward1d_checked(const Forward1d& call, const Context& context) noexcept {
  solve_rows(call, static_cast<std::byte*>(context.workspace), context);
}

}  // namespace tautstring::detail
