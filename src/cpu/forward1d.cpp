// Forward on the CPU: batches of rows on the fast path, single rows by the careful solver.
#include <algorithm>
#include <atomic>

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

TileLayout tile_layout(const Forward1d& call, const Context& context) noexcept {
  TileLayout layout(call.rows, concurrency(context));
  layout.per_edge = is_per_edge(call.lam);
  layout.narrow = size_of(call.x.dtype) == sizeof(std::uint16_t);
  return layout;
}

template <class T>
void forward_in_tiles(const Forward1d& call, std::byte* block, const Context& context) noexcept {
  const TileLayout layout = tile_layout(call, context);
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(Sharing(call.rows.count, layout.rows, context), block,
                 ForwardChunks<T>::scratch_bytes(layout), context,
                 [&](Scratch& scratch) { return ForwardChunks<T>(call, target, layout, scratch); });
}

std::size_t tiles_bytes(const TileLayout& layout, const Rows& rows,
                        const Context& context) noexcept {
  const Sharing sharing(rows.count, layout.rows, context);
  return ForwardChunks<double>::scratch_bytes(layout) * static_cast<std::size_t>(sharing.tasks);
}

/// Rows with one call of LongRow each.
template <class T>
class LongRows {
 public:
  LongRows(const Forward1d& call, const CpuTarget& target, Scratch working, Scratch spare,
           const LongRowLayout& layout) noexcept
      : call_(call), target_(target), working_(working), spare_(spare), layout_(layout) {}

  void solve(std::int64_t row, const Context& threads) noexcept {
    RowPath path = solve_in<T>(row, layout_, threads);
    if (path == RowPath::wide) path = solve_in<double>(row, wide_layout(layout_), threads);
    if (path == RowPath::unusual && !is_interrupted(threads)) solve_carefully(row);
  }

  static MemorySize memory_size(const LongRowLayout& layout) noexcept {
    const MemorySize size = LongRowScratch<T>::size(layout);
    const MemorySize wide = LongRowScratch<double>::size(wide_layout(layout));
    const std::size_t careful = row_scratch_bytes(layout.n, false);
    return {std::max(size.working, wide.working), std::max({size.spare, wide.spare, careful})};
  }

 private:
  static LongRowLayout wide_layout(LongRowLayout layout) noexcept {
    layout.staged = false;
    return layout;
  }

  // All solvers of a row share the same memory, as they are used one after the other.
  template <class Arithmetic>
  [[nodiscard]] RowPath solve_in(std::int64_t row, const LongRowLayout& layout,
                                 const Context& threads) noexcept {
    Scratch working = working_;
    Scratch spare = spare_;
    const LongRowScratch<Arithmetic> scratch(working, spare, layout);
    return LongRow<Arithmetic>(call_, target_, scratch).solve(row, threads);
  }
  void solve_carefully(std::int64_t row) noexcept {
    Scratch spare = spare_;
    ForwardWorker(call_, RowScratch(spare, layout_.n, false))(row);
  }

  const Forward1d& call_;
  const CpuTarget& target_;
  const Scratch working_;
  const Scratch spare_;
  const LongRowLayout layout_;
};

/// Whether threads share the rows (if there are enough of them) or work on each row together.
bool shares_rows(const Rows& rows, const Context& context) noexcept {
  return rows.count >= concurrency(context);
}

/// The layout for any rows of that length.
LongRowLayout long_row_layout(const Rows& rows, const Context& context) noexcept {
  return {.n = rows.n, .tasks = shares_rows(rows, context) ? 1 : concurrency(context)};
}

template <class T>
LongRowLayout long_row_layout(const Forward1d& call, const Context& context) noexcept {
  const auto is_plain = [](const auto& array) {
    return array.dtype == kDType<T> && array.stride == 1;
  };
  LongRowLayout layout = long_row_layout(call.rows, context);
  layout.staged = !is_plain(call.x) || !is_plain(call.y);
  layout.per_edge = is_per_edge(call.lam);
  return layout;
}

template <class T>
MemorySize long_rows_size(const LongRowLayout& layout, const Rows& rows,
                          const Context& context) noexcept {
  const auto [working, spare] = LongRows<T>::memory_size(layout);
  const std::size_t rows_at_a_time =
      shares_rows(rows, context) ? static_cast<std::size_t>(concurrency(context)) : 1;
  return {working * rows_at_a_time, spare * rows_at_a_time};
}

template <class T>
void forward_long_rows(const Forward1d& call, const MemoryBlocks& blocks,
                       const Context& context) noexcept {
  const CpuTarget& target = chosen_cpu_target();
  const auto layout = long_row_layout<T>(call, context);
  if (shares_rows(call.rows, context)) {
    const Context one_thread = {.interrupt = context.interrupt};
    const MemorySize size = LongRows<T>::memory_size(layout);
    std::atomic<std::byte*> next_spare{blocks.spare};
    for_each_chunk(
        Sharing(call.rows.count, 1, context), blocks.working, size.working, context,
        [&](Scratch& working) {
          const Scratch spare(next_spare.fetch_add(static_cast<std::ptrdiff_t>(size.spare)));
          return [rows = LongRows<T>(call, target, working, spare, layout), &one_thread](
                     std::int64_t row, std::int64_t) mutable { rows.solve(row, one_thread); };
        });
    return;
  }
  LongRows<T> rows(call, target, Scratch(blocks.working), Scratch(blocks.spare), layout);
  for (std::int64_t row = 0; row < call.rows.count && !is_interrupted(context); ++row) {
    rows.solve(row, context);
  }
}

template <class T>
MemorySize size_in(const Forward1d& call, const Context& context) noexcept {
  if (call.rows.n > kLongRow) {
    return long_rows_size<T>(long_row_layout<T>(call, context), call.rows, context);
  }
  return {tiles_bytes(tile_layout(call, context), call.rows, context)};
}

template <class T>
void forward_in(const Forward1d& call, const MemoryBlocks& blocks,
                const Context& context) noexcept {
  if (call.rows.n > kLongRow) {
    forward_long_rows<T>(call, blocks, context);
  } else {
    forward_in_tiles<T>(call, blocks.working, context);
  }
}

/// Whether all rows need the careful row solver, which is known beforehand for some calls.
bool are_careful(const Forward1d& call) noexcept {
  const bool copies = !call.lam.array.given && call.lam.number == 0;
  const bool too_long = call.rows.n >= 1 << kStartCodeShift;
  return call.weight.given || copies || too_long;
}

MemorySize call_size(const Forward1d& call, const Context& context) noexcept {
  if (are_careful(call)) return {row_tasks_bytes(call.rows, call.weight.given, context)};
  return call.x.dtype == DType::float64 ? size_in<double>(call, context)
                                        : size_in<float>(call, context);
}

void solve_rows(const Forward1d& call, const MemoryBlocks& blocks,
                const Context& context) noexcept {
  if (are_careful(call)) {
    for_each_row<ForwardWorker>(call, call.rows, call.weight.given, blocks.working, context);
  } else if (call.x.dtype == DType::float64) {
    forward_in<double>(call, blocks, context);
  } else {
    forward_in<float>(call, blocks, context);
  }
}

}  // namespace

std::size_t forward1d_workspace(const Rows& rows, const Context& context) noexcept {
  if (rows.n <= kLongRow) {
    return tiles_bytes(TileLayout(rows, concurrency(context)), rows, context);
  }
  const LongRowLayout layout = long_row_layout(rows, context);
  return std::max(long_rows_size<float>(layout, rows, context).total(),
                  long_rows_size<double>(layout, rows, context).total());
}

Status forward1d(const Forward1d& call, const Context& context) noexcept {
  if (const Status status = check_lam(call.lam, call.rows); !status.ok()) return status;
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  if (call.rows.n == 0 || call.rows.count == 0) return {};  // nothing to write
  const CallMemory memory(call_size(call, context), context);
  if (!memory.status().ok()) return memory.status();
  solve_rows(call, memory.blocks(), context);
  return {};
}

void forward1d_checked(const Forward1d& call, const Context& context) noexcept {
  solve_rows(call, blocks_of(context.workspace, call_size(call, context)), context);
}

}  // namespace tautstring::detail
