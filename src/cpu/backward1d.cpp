// Backward on the CPU: sums of the incoming gradient over segments, by the vector code if there are
// no data weights.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/gradient_batch.h"
#include "cpu/parallel.h"
#include "cpu/shared_lams.h"
#include "cpu/value_checks.h"
#include "step/row/backward_worker.h"

namespace tautstring::detail {
namespace {

GradientLayout layout_of(const Backward1d& call, const Context& context) noexcept {
  return {call.solved.rows, concurrency(context), call.rows_per_term};
}

template <class T>
std::size_t bytes_in(const Backward1d& call, const Context& context) noexcept {
  const GradientLayout layout = layout_of(call, context);
  const Sharing sharing(call.solved.rows.count, layout.rows, context);
  return GradientBatch<T>::scratch_bytes(layout, &call) * static_cast<std::size_t>(sharing.tasks);
}

template <class T>
void backward_in(const Backward1d& call, std::byte* block, const Context& context) noexcept {
  const GradientLayout layout = layout_of(call, context);
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(Sharing(call.solved.rows.count, layout.rows, context), block,
                 GradientBatch<T>::scratch_bytes(layout, &call), context,
                 [&](Scratch& scratch) { return GradientBatch<T>(call, target, layout, scratch); });
}

/// Whether the arithmetic is in float64. Sums of shared gradients always are.
bool has_float64(const Backward1d& call) noexcept {
  const auto is_float64 = [](const auto& array) {
    return array.given && !array.shared && array.dtype == DType::float64;
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

/// Whether rows are differentiated one by one.
bool is_by_row(const SolvedRows& solved) noexcept {
  return solved.weight.given || solved.rows.n == 0;
}

std::size_t bytes_of(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (is_by_row(solved)) return row_tasks_bytes(solved.rows, solved.weight.given, context);
  return has_float64(call) ? bytes_in<double>(call, context) : bytes_in<float>(call, context);
}

void differentiate(const Backward1d& call, std::byte* block, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (is_by_row(solved)) {
    for_each_row<BackwardWorker>(call, solved.rows, solved.weight.given, block, context);
  } else {
    sum_segments(call, block, context);
  }
}

}  // namespace

std::size_t backward1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept {
  GradientLayout layout(rows, concurrency(context), 1);
  if (rows.n <= kLongestJoined) {
    layout.rows =
        std::max(layout.rows,
                 static_cast<std::int32_t>(std::min<std::int64_t>(rows.count, kMostRowsPerTerm)));
  }
  const auto tasks =
      static_cast<std::size_t>(std::clamp<std::int64_t>(rows.count, 1, concurrency(context)));
  Scratch scratch(nullptr);
  SharedLams::take_most(scratch, rows.count);
  return scratch.used() + std::max(row_tasks_bytes(rows, weighted, context),
                                   GradientBatch<double>::scratch_bytes(layout, nullptr) * tasks);
}

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (const Status status = check_weight(solved.weight, solved.rows); !status.ok()) return status;
  const bool writes = solved.rows.n > 0 || call.grad_lam.given;  // lam may be one per row
  if (!writes || (solved.rows.count == 0 && !call.grad_lam.shared)) return {};
  Backward1d terms = call;
  terms.rows_per_term = rows_per_term(call);
  SharedLams lams(solved.rows, call.grad_lam, terms.rows_per_term);
  Scratch sizes(nullptr);
  lams.take_memory(sizes);
  const CallMemory memory({sizes.used() + bytes_of(terms, context)}, context);
  if (!memory.status().ok()) return memory.status();
  Scratch scratch(memory.blocks().working);
  lams.take_memory(scratch);
  terms.grad_lam = lams.terms(solved.rows, call.grad_lam);
  differentiate(terms, memory.blocks().working + sizes.used(), context);
  if (!is_interrupted(context)) lams.store();
  return {};
}

void backward1d_checked(const Backward1d& call, const Context& context) noexcept {
  sum_segments(call, static_cast<std::byte*>(context.workspace), context);
}

}  // namespace tautstring::detail
