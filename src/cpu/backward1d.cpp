// Backward on the CPU: sums of the incoming gradient over segments, by the vector code if there are
// no data weights.
#include "cpu/cpu_backend.h"
#include "cpu/gradient_batch.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/backward_worker.h"

namespace tautstring::detail {
namespace {

template <class T>
std::size_t bytes_in(const Backward1d& call, const Context& context) noexcept {
  const Rows& rows = call.solved.rows;
  const GradientLayout layout(rows, concurrency(context));
  const Sharing sharing(rows.count, layout.rows, context);
  return GradientBatch<T>::scratch_bytes(layout, &call) * static_cast<std::size_t>(sharing.tasks);
}

template <class T>
void backward_in(const Backward1d& call, std::byte* block, const Context& context) noexcept {
  const Rows& rows = call.solved.rows;
  const GradientLayout layout(rows, concurrency(context));
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(Sharing(rows.count, layout.rows, context), block,
                 GradientBatch<T>::scratch_bytes(layout, &call), context,
                 [&](Scratch& scratch) { return GradientBatch<T>(call, target, layout, scratch); });
}

bool has_float64(const Backward1d& call) noexcept {
  const auto is_float64 = [](const auto& array) {
    return array.given && array.dtype == DType::float64;
  };
  return call.grad_y.dtype == DType::float64 || is_float64(call.grad_x) ||
         is_float64(call.grad_lam);
}

/// For rows that have samples, without data weights.
void sum_segments(const Backward1d& call, std::byte* block, const Context& context) noexcept {
  if (has_float64(call)) {
    backward_in<double>(call, block, context);
  } else {
    backward_in<float>(call, block, context);
  }
}

}  // namespace

std::size_t backward1d_workspace(const Rows& rows, const Context& context) noexcept {
  const GradientLayout layout(rows, concurrency(context));
  const Sharing sharing(rows.count, layout.rows, context);
  return GradientBatch<double>::scratch_bytes(layout, nullptr) *
         static_cast<std::size_t>(sharing.tasks);
}

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  const bool writes = solved.rows.n > 0 || call.grad_lam.given;  // lam may be one per row
  if (!writes) return {};
  if (solved.weight.given || solved.rows.n == 0) {
    return for_each_row<BackwardWorker>(call, solved.rows, solved.weight.given, context);
  }
  if (solved.rows.count == 0) return {};
  const CallMemory memory(
      {has_float64(call) ? bytes_in<double>(call, context) : bytes_in<float>(call, context)},
      context);
  if (!memory.status().ok()) return memory.status();
  sum_segments(call, memory.blocks().working, context);
  return {};
}

void backward1d_checked(const Backward1d& call, const Context& context) noexcept {
  sum_segments(call, static_cast<std::byte*>(context.workspace), context);
}

}  // namespace tautstring::detail
