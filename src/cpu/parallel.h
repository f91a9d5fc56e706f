// Runs one worker a task over the rows of a batch on the caller's executor.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "backend.h"
#include "cpu/scratch.h"

namespace tautline::detail {

inline std::size_t scratch_bytes(std::int32_t n, bool weighted) {
  Scratch counter(nullptr);
  RowScratch(counter, n, weighted);
  return counter.used();
}

/// How a batch is shared out: tasks take chunks of rows, so that slow rows do
/// not leave threads idle. Rows never depend on one another: which task takes a
/// row cannot change its bits.
struct Sharing {
  Sharing(const Rows& rows, const Context& context) noexcept
      : chunk_rows(std::clamp<std::int64_t>(kChunkElements / std::max(rows.n, 1), 1,
                                            std::max<std::int64_t>(rows.count, 1))),
        chunks((rows.count + chunk_rows - 1) / chunk_rows) {
    const int threads = context.executor == nullptr ? 1 : context.executor->concurrency();
    tasks =
        static_cast<int>(std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(chunks, 1)));
  }

  /// Large enough to make the hand-out free, small enough to share out an image.
  static constexpr std::int64_t kChunkElements = 8192;

  std::int64_t chunk_rows;
  std::int64_t chunks;
  int tasks = 1;
};

/// Makes a Worker(call, scratch) for each task and calls it for every row. All
/// memory is had before the first row is touched.
template <class Worker, class Call>
Status for_each_row(const Call& call, const Rows& rows, bool weighted,
                    const Context& context) noexcept {
  struct AlignedDelete {
    void operator()(std::byte* block) const noexcept {
      ::operator delete[](block, std::align_val_t{Scratch::kAlignment});
    }
  };
  struct Batch {
    const Call& call;
    const Rows& rows;
    bool weighted;
    std::byte* block;
    std::size_t task_bytes;
    Sharing sharing;
    std::atomic<std::int64_t> next_chunk{0};
  };

  if (rows.count == 0) return {};
  const Sharing sharing(rows, context);
  const std::size_t task_bytes = scratch_bytes(rows.n, weighted);
  const std::size_t bytes = task_bytes * static_cast<std::size_t>(sharing.tasks);
  std::unique_ptr<std::byte[], AlignedDelete> owned;
  auto* block = static_cast<std::byte*>(context.workspace);
  if (block == nullptr) {
    owned.reset(static_cast<std::byte*>(
        ::operator new[](bytes, std::align_val_t{Scratch::kAlignment}, std::nothrow)));
    block = owned.get();
    if (block == nullptr) {
      return {.code = StatusCode::out_of_memory,
              .argument = "workspace",
              .given = static_cast<double>(bytes)};
    }
  } else if (context.workspace_size < bytes) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace_size",
            .expected = "must be at least what prox_tv1d_workspace gives",
            .given = static_cast<double>(context.workspace_size),
            .has_given = true};
  } else if (reinterpret_cast<std::uintptr_t>(block) % Scratch::kAlignment != 0) {
    return {.code = StatusCode::invalid_argument,
            .argument = "workspace",
            .expected = "must be aligned to 64 bytes"};
  }

  Batch batch{call, rows, weighted, block, task_bytes, sharing};
  const auto task = [](void* argument, int i) {
    Batch& b = *static_cast<Batch*>(argument);
    Scratch scratch(b.block + static_cast<std::size_t>(i) * b.task_bytes);
    Worker worker(b.call, RowScratch(scratch, b.rows.n, b.weighted));
    for (;;) {
      const std::int64_t chunk = b.next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= b.sharing.chunks) return;
      const std::int64_t first = chunk * b.sharing.chunk_rows;
      const std::int64_t last = std::min(first + b.sharing.chunk_rows, b.rows.count);
      for (std::int64_t row = first; row < last; ++row) worker(row);
    }
  };
  if (context.executor == nullptr) {
    task(&batch, 0);
  } else {
    context.executor->run(sharing.tasks, task, &batch);
  }
  return {};
}

}  // namespace tautline::detail
