#include "cuda/dispatch/rows.h"

#include <algorithm>

#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_rows.cuh"
#include "cuda/tuning/tuning_rows.h"
#include "step/row/backward_worker.h"
#include "step/row/forward_worker.h"
#include "step/row/jvp_worker.h"
#include "step/row/reduction_workers.h"

namespace tautstring::detail {
namespace {

template <class Worker, class Call>
Status launch(const Call& call, const Rows& rows, bool weighted, const Context& context) noexcept {
  if (rows.count == 0) return {};
  const Status status = check_workspace(rows_workspace(rows, weighted), context);
  if (!status.ok()) return status;
  const std::size_t slot_bytes = row_scratch_bytes(rows.n, weighted);
  const RowSlots slots = {static_cast<std::byte*>(context.workspace), slot_bytes,
                          row_threads(rows.count, slot_bytes)};
  const auto blocks =
      static_cast<unsigned>((slots.threads + kRowThreadsPerBlock - 1) / kRowThreadsPerBlock);
  kernel_rows<Worker>
      <<<blocks, kRowThreadsPerBlock, 0, stream_of(context)>>>(call, rows, weighted, slots);
  return launch_status();
}

}  // namespace

std::size_t rows_workspace(const Rows& rows, bool weighted) noexcept {
  const std::size_t slot_bytes = row_scratch_bytes(rows.n, weighted);
  return slot_bytes * static_cast<std::size_t>(row_threads(rows.count, slot_bytes));
}

Status rows_forward(const Forward1d& call, const Context& context) noexcept {
  return launch<ForwardWorker>(call, call.rows, call.weight.given, context);
}

Status rows_backward(const Backward1d& call, const Context& context) noexcept {
  return launch<BackwardWorker>(call, call.solved.rows, call.solved.weight.given, context);
}

Status rows_jvp(const Jvp1d& call, const Context& context) noexcept {
  return launch<JvpWorker>(call, call.solved.rows, call.solved.weight.given, context);
}

Status rows_certificate(const Certificate1d& call, const Context& context) noexcept {
  return launch<CertificateWorker>(call, call.rows, call.weight.given, context);
}

Status rows_lam_max(const RowReduction& call, const Context& context) noexcept {
  return launch<LamMaxWorker>(call, call.rows, call.weight.given, context);
}

Status rows_tv(const RowReduction& call, const Context& context) noexcept {
  return launch<TvWorker>(call, call.rows, false, context);
}

}  // namespace tautstring::detail
