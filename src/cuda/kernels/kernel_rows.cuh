// Rows one at a time, in float64, by the code of the CPU's careful path.
//
// Mapping: one thread per row. Thread t takes rows t, t + threads, and so on, and uses slot t of
// the workspace for its arrays. Traffic: a row is read and written once, its scratch (33 bytes per
// element, 98 with data weights) several times, uncoalesced: built for correctness, not speed.
// Shared memory: none. Nothing depends on which thread takes a row, so results do not depend on the
// grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "step/row/row_values.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// The workspace in equal parts, one for each of `threads` threads.
struct RowSlots {
  std::byte* block;
  std::size_t bytes;  // bytes of a slot
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
