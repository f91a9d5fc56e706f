// Runs the rows of a batch as tasks on the caller's executor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "cpu/call_memory.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

inline int concurrency(const Context& context) noexcept {
  return context.executor == nullptr ? 1 : std::max(context.executor->concurrency(), 1);
}

/// Whether this call should stop: remaining work may be skipped. Once true on one thread, it stays
/// true on all threads that see that thread's work.
inline bool is_interrupted(const Context& context) noexcept {
  return context.interrupt != nullptr && context.interrupt->wanted();
}

/// How work is distributed: tasks take chunks of it, so that slow parts do not leave threads idle.
/// Chunks never depend on one another, so the bits of the result do not depend on which task takes
/// which chunk.
struct Sharing {
  Sharing(std::int64_t all, std::int64_t chunk_size, const Context& context) noexcept
      : count(all), chunk(std::max<std::int64_t>(chunk_size, 1)) {
    tasks = static_cast<int>(
        std::clamp<std::int64_t>(concurrency(context), 1, std::max<std::int64_t>(chunks(), 1)));
  }

  [[nodiscard]] std::int64_t chunks() const noexcept { return (count + chunk - 1) / chunk; }

  std::int64_t count;
  std::int64_t chunk;
  int tasks = 1;
};

/// A sequence of chunks, of which a task takes its own range first and then what others have left.
/// A thread thus takes mostly the same chunks in each pass over memory, and finds them in its own
/// cache.
class ChunkRanges {
 public:
  ChunkRanges(std::int64_t chunks, int tasks) noexcept : count_(std::min(tasks, kMost)) {
    for (int r = 0; r < count_; ++r) {
      ranges_[r].next = chunks * r / count_;
      ranges_[r].end = chunks * (r + 1) / count_;
    }
  }

  /// Calls use(chunk) on behalf of one task, until the call is interrupted.
  template <class Use>
  void take(int task, const Context& context, const Use& use) noexcept {
    for (int r = 0; r < count_; ++r) {
      Range& range = ranges_[(task + r) % count_];
      for (;;) {
        const std::int64_t chunk = range.next.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= range.end) break;
        if (is_interrupted(context)) return;
        use(chunk);
      }
    }
  }

 private:
  static constexpr int kMost = 64;
  struct alignas(64) Range {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  Range ranges_[kMost];
  int count_;
};

/// Makes a worker for each task, make(scratch), and calls worker(first, last) for every chunk.
/// Every task has `task_bytes` of the memory at `block`. If the call is interrupted, chunks are
/// skipped: nothing may then rely on what they would have written.
template <class Make>
void for_each_chunk(const Sharing& sharing, std::byte* block, std::size_t task_bytes,
                    const Context& context, const Make& make) noexcept {
  if (sharing.tasks == 1) {
    Scratch scratch(block);
    auto worker = make(scratch);
    for (std::int64_t first = 0; first < sharing.count; first += sharing.chunk) {
      if (is_interrupted(context)) return;
      worker(first, std::min(first + sharing.chunk, sharing.count));
    }
    return;
  }
  struct Shared {
    const Sharing& sharing;
    const Make& make;
    std::byte* block;
    std::size_t task_bytes;
    const Context& context;
    ChunkRanges ranges;
  } shared{sharing, make, block, task_bytes, context, ChunkRanges(sharing.chunks(), sharing.tasks)};
  const auto task = [](void* argument, int i) {
    Shared& s = *static_cast<Shared*>(argument);
    Scratch scratch(s.block + static_cast<std::size_t>(i) * s.task_bytes);
    auto worker = s.make(scratch);
    s.ranges.take(i, s.context, [&](std::int64_t chunk) {
      const std::int64_t first = chunk * s.sharing.chunk;
      worker(first, std::min(first + s.sharing.chunk, s.sharing.count));
    });
  };
  context.executor->run(sharing.tasks, task, &shared);
}

/// Large enough to make the cost of distributing chunks negligible, small enough to share an image
/// among threads.
inline Sharing share_rows(const Rows& rows, const Context& context) noexcept {
  constexpr std::int64_t kChunkSamples = 8192;
  return {rows.count, kChunkSamples / std::max(rows.n, 1), context};
}

/// Scratch bytes of for_each_row.
inline std::size_t row_tasks_bytes(const Rows& rows, bool weighted,
                                   const Context& context) noexcept {
  const auto tasks = static_cast<std::size_t>(share_rows(rows, context).tasks);
  return row_scratch_bytes(rows.n, weighted) * tasks;
}

/// Makes a Worker(call, scratch) for each task, in row_tasks_bytes of the memory at `block`, and
/// calls it for every row.
template <class Worker, class Call>
void for_each_row(const Call& call, const Rows& rows, bool weighted, std::byte* block,
                  const Context& context) noexcept {
  for_each_chunk(share_rows(rows, context), block, row_scratch_bytes(rows.n, weighted), context,
                 [&](Scratch& scratch) {
                   return [worker = Worker(call, RowScratch(scratch, rows.n, weighted))](
                              std::int64_t first, std::int64_t last) mutable {
                     for (std::int64_t row = first; row < last; ++row) worker(row);
                   };
                 });
}

/// The same in the call's own memory, which is allocated before the first row is touched.
template <class Worker, class Call>
Status for_each_row(const Call& call, const Rows& rows, bool weighted,
                    const Context& context) noexcept {
  if (rows.count == 0) return {};
  const CallMemory memory({row_tasks_bytes(rows, weighted, context)}, context);
  if (!memory.status().ok()) return memory.status();
  for_each_row<Worker>(call, rows, weighted, memory.blocks().working, context);
  return {};
}

}  // namespace tautstring::detail
