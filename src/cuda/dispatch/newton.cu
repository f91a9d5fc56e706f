#include "cuda/dispatch/newton.h"

#include <algorithm>
#include <limits>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_newton.cuh"
#include "cuda/tuning/tuning_rows.h"

namespace tautstring::detail {
namespace {

/// The rows that are left over, and scratch memory for one thread each.
struct NewtonWorkspace {
  explicit NewtonWorkspace(const Rows& rows, std::byte* block) noexcept {
    Scratch scratch(block);
    left = scratch.take<std::uint8_t>(rows.count);
    slots.bytes = newton_scratch_bytes(rows.n);
    slots.threads = row_threads(rows.count, slots.bytes);
    slots.block = scratch.take<std::byte>(slots.threads * static_cast<std::int64_t>(slots.bytes));
    used = scratch.used();
  }

  std::uint8_t* left;
  RowSlots slots;
  std::size_t used;
};

NewtonCall lay_out(const NewtonForward1d& call, std::uint8_t* left) noexcept {
  const Forward1d& problem = call.problem;
  const Rows& rows = problem.rows;
  NewtonCall result = {};
  result.count = rows.count;
  result.n = rows.n;
  result.x = NewtonRows<const void>(problem.x, rows);
  result.lam_number = problem.lam.number;
  if (problem.lam.array.given && problem.lam.array.size == 0) result.lam_number = 1;  // no edge
  if (problem.lam.array.given && problem.lam.array.size > 0) {
    result.lam = NewtonRows<const void>(problem.lam.array, rows);
  }
  if (call.start.given) result.start = NewtonRows<const void>(call.start, rows);
  result.y = NewtonRows<void>(problem.y, rows);
  if (call.dual.given) result.dual = NewtonRows<void>(call.dual, rows);
  result.sharp = problem.mode == Mode::sharp;
  result.polish = call.newton.polish;
  result.wants_quality = wants_quality(call);
  result.options = {call.newton.iterations, call.newton.tol,
                    call.newton.line_search == LineSearch::halving};
  result.partition = problem.partition;
  result.gap = call.gap;
  result.iterations = call.iterations;
  result.converged = call.converged;
  result.left = left;
  return result;
}

template <int kThreads, int kItems>
Status launch(const NewtonCall& call, std::size_t shared, const Context& context) noexcept {
  auto* const kernel = &kernel_newton<kThreads, kItems>;
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  const auto blocks = static_cast<unsigned>(
      std::min<std::int64_t>(call.count, std::numeric_limits<std::int32_t>::max()));
  kernel<<<blocks, kThreads, shared, stream_of(context)>>>(call);
  return launch_status();
}

template <int kThreads>
[[nodiscard]] std::size_t shared_bytes(const NewtonForward1d& call) noexcept {
  return newton_shared_bytes<kThreads>(call.problem.rows.n, call.problem.lam.array.size > 1);
}

/// Whether a block of the current device can hold a row.
[[nodiscard]] bool fits_a_block(const NewtonForward1d& call) noexcept {
  return call.problem.rows.n <= kLongestSharedNewtonRow &&
         shared_bytes<kMostNewtonThreads>(call) <= current_device().block_shared_memory;
}

Status launch_blocks(const NewtonForward1d& call, std::uint8_t* left,
                     const Context& context) noexcept {
  const NewtonCall laid_out = lay_out(call, left);
  const std::int32_t n = laid_out.n;
  if (n <= kLanes * kNewtonItems) {
    const std::size_t shared = shared_bytes<kLanes>(call);
    if (n <= kLanes) return launch<kLanes, 1>(laid_out, shared, context);
    if (n <= 2 * kLanes) return launch<kLanes, 2>(laid_out, shared, context);
    if (n <= 4 * kLanes) return launch<kLanes, 4>(laid_out, shared, context);
    return launch<kLanes, kNewtonItems>(laid_out, shared, context);
  }
  const auto launch_threads = [&]<int kThreads>() {
    return launch<kThreads, kNewtonItems>(laid_out, shared_bytes<kThreads>(call), context);
  };
  if (n <= 64 * kNewtonItems) return launch_threads.template operator()<64>();
  if (n <= 128 * kNewtonItems) return launch_threads.template operator()<128>();
  if (n <= 256 * kNewtonItems) return launch_threads.template operator()<256>();
  return launch_threads.template operator()<kMostNewtonThreads>();
}

}  // namespace

std::size_t newton_workspace(const Rows& rows) noexcept {
  return NewtonWorkspace(rows, nullptr).used;
}

Status newton_forward(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  if (const Status status = check_workspace(newton_workspace(rows), context, kNewtonWorkspace);
      !status.ok()) {
    return status;
  }
  const NewtonWorkspace workspace(rows, static_cast<std::byte*>(context.workspace));
  const std::uint8_t* left = nullptr;
  if (fits_a_block(call)) {
    const Status status = launch_blocks(call, workspace.left, context);
    if (!status.ok()) return status;
    left = workspace.left;
  }
  const auto blocks = static_cast<unsigned>((workspace.slots.threads + kRowThreadsPerBlock - 1) /
                                            kRowThreadsPerBlock);
  kernel_newton_rows<<<blocks, kRowThreadsPerBlock, 0, stream_of(context)>>>(call, left,
                                                                             workspace.slots);
  return launch_status();
}

Status empty_newton_forward(const NewtonForward1d& call, const Context& context) noexcept {
  const auto count = static_cast<std::size_t>(call.problem.rows.count);
  Status status;
  const auto clear = [&](auto* list) {
    if (list == nullptr || count == 0 || !status.ok()) return;
    status = device_status(cudaMemsetAsync(list, 0, count * sizeof(*list), stream_of(context)));
  };
  clear(call.gap);
  clear(call.iterations);
  clear(call.converged);
  return status;
}

}  // namespace tautstring::detail
