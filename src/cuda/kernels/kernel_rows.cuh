// Rows one at a time, in float64, by the code that the CPU's careful path runs.
//
// Mapping: one thread a row; thread t takes rows t, t + threads, and so on, and
// has slot t of the workspace for its arrays. Traffic: a row is read and written
// once, its scratch (33 bytes an element, 98 with data weights) several times,
// uncoalesced: made to be right, not fast. Shared memory: none. Nothing depends on
// which thread takes a row, so that results do not depend on the grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "step/row/row_values.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// One part of the workspace for each of `threads` threads.
struct RowSlots {
  std::byte* block;
  std::size_t bytes;  // a slot
  std::int64_t threads;
};

template <class Worker, class Call>
__global__ void kernel_rows(const __grid_constant__ Call call, const __grid_constant__ Rows rows,
                            bool weighted, RowSlots slots) {
  const std::int64_t thread = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (thread >= slots.threads) return;
  Scratch scratch(slots.block + static_cast<std::size_t>(thread) * slots.bytes);
  Worker worker(call, RowScratch(scratch, rows.n, weighted));
  for (std::int64_t row = thread; row < rows.count; row += slots.threads) {
    if (has_allowed_values(call, row)) {
      worker(row);
    } else {
      refuse(call, row);
    }
  }
}

}  // namespace tautstring::detail
