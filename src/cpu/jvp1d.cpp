// The forward derivative on the CPU: sums of the tangents over segments.
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/jvp_worker.h"

namespace tautstring::detail {

Status jvp1d(const Jvp1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  if (solved.rows.n == 0) return {};  // nothing to write, whatever the number of rows
  return for_each_row<JvpWorker>(call, solved.rows, solved.weight.given, context);
}

}  // namespace tautstring::detail
