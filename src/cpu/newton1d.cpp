// The Newton solver on the CPU: threads share the rows.
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/newton_worker.h"

namespace tautline::detail {
std::size_t newton1d_workspace(const Rows& rows, const Context& context) noexcept {
  const auto tasks = static_cast<std::size_t>(share_rows(rows, context).tasks);
  return newton_scratch_bytes(rows.n) * tasks;
}

Status newton1d(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  if (const Status status = check_lam(call.problem.lam, rows); !status.ok()) return status;
  if (rows.count == 0) return {};
  const CallMemory memory(newton1d_workspace(rows, context), context, kWorkspaceNewton1d);
  if (!memory.status().ok()) return memory.status();
  for_each_chunk(share_rows(rows, context), memory.block(), newton_scratch_bytes(rows.n), context,
                 [&](Scratch& scratch) {
                   return [worker = NewtonWorker(call, NewtonScratch(scratch, rows.n))](
                              std::int64_t first, std::int64_t last) mutable {
                     for (std::int64_t row = first; row < last; ++row) worker(row);
                   };
                 });
  return {};
}

}  // namespace tautline::detail
