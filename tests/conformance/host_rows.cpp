// The devices' row code on the host: row by row, like kernels/kernel_rows.cuh, in a workspace
// filled with NaN and followed by a guard.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cuda/dispatch/workspace.h"
#include "step/row/backward_worker.h"
#include "step/row/forward_worker.h"
#include "step/row/jvp_worker.h"
#include "step/row/newton_worker.h"
#include "step/row/reduction_workers.h"
#include "step/row/row_values.h"
#include "tested_backend.h"

namespace tautstring::testing {
namespace {

using namespace tautstring::detail;

constexpr std::byte kUntouched{0xFF};
constexpr std::size_t kGuard = 256;

/// Aligned memory of a given size; bytes past its end must not change.
class GuardedBlock {
 public:
  explicit GuardedBlock(std::size_t size)
      : memory_(Scratch::kAlignment + size + kGuard, kUntouched), size_(size) {}
  ~GuardedBlock() {
    EXPECT_TRUE(std::all_of(begin() + size_, begin() + size_ + kGuard,
                            [](std::byte value) { return value == kUntouched; }));
  }
  GuardedBlock(const GuardedBlock&) = delete;
  GuardedBlock& operator=(const GuardedBlock&) = delete;

  std::byte* begin() {
    const auto misplaced = reinterpret_cast<std::uintptr_t>(memory_.data()) % Scratch::kAlignment;
    return memory_.data() + (Scratch::kAlignment - misplaced);
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t size_;
};

/// Runs the worker returned by make(scratch).
template <class Call, class Make>
Status run(const Call& call, const Rows& rows, std::size_t bytes, const WorkspaceRules& rules,
           const Context& context, Make make) {
  if (context.workspace != nullptr) {
    if (const Status status = check_workspace(bytes, context, rules); !status.ok()) return status;
  }
  GuardedBlock block(bytes);
  Scratch scratch(block.begin());
  auto worker = make(scratch);
  for (std::int64_t row = 0; row < rows.count; ++row) {
    if (has_allowed_values(call, row)) {
      worker(row);
    } else {
      refuse(call, row);
    }
  }
  return {};
}

template <class Worker, class Call>
Status run(const Call& call, const Rows& rows, bool weighted, const Context& context) {
  return run(call, rows, row_scratch_bytes(rows.n, weighted), kRowsWorkspace, context,
             [&](Scratch& scratch) { return Worker(call, RowScratch(scratch, rows.n, weighted)); });
}

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& /*context*/) noexcept {
  return row_scratch_bytes(rows.n, weighted);
}

Status forward1d(const Forward1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.lam); !status.ok()) return status;
  if (call.rows.n == 0) return {};
  return run<ForwardWorker>(call, call.rows, call.weight.given, context);
}

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (solved.rows.n == 0 && !call.grad_lam.given) return {};
  return run<BackwardWorker>(call, solved.rows, solved.weight.given, context);
}

Status jvp1d(const Jvp1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (solved.rows.n == 0) return {};
  return run<JvpWorker>(call, solved.rows, solved.weight.given, context);
}

Status certificate1d(const Certificate1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.lam); !status.ok()) return status;
  return run<CertificateWorker>(call, call.rows, call.weight.given, context);
}

Status lam_max(const RowReduction& call, const Context& context) noexcept {
  return run<LamMaxWorker>(call, call.rows, call.weight.given, context);
}

Status tv(const RowReduction& call, const Context& context) noexcept {
  return run<TvWorker>(call, call.rows, false, context);
}

std::size_t newton_workspace1d(const Rows& rows, const Context& /*context*/) noexcept {
  return newton_scratch_bytes(rows.n);
}

Status newton1d(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  if (const Status status = check_lam_number(call.problem.lam); !status.ok()) return status;
  constexpr WorkspaceRules kRules = {
      "must be memory of the size that prox_tv1d_newton_workspace gives",
      "must be at least what prox_tv1d_newton_workspace gives"};
  return run(call, rows, newton_scratch_bytes(rows.n), kRules, context,
             [&](Scratch& scratch) { return NewtonWorker(call, NewtonScratch(scratch, rows.n)); });
}

constexpr Backend kHostRows = {
    .targets = nullptr,
    .target = nullptr,
    .error_text = nullptr,
    .workspace1d = workspace1d,
    .forward1d = forward1d,
    .backward1d = backward1d,
    .jvp1d = jvp1d,
    .certificate1d = certificate1d,
    .lam_max = lam_max,
    .tv = tv,
    .newton_workspace1d = newton_workspace1d,
    .newton1d = newton1d,
    .workspace2d = nullptr,  // rows only
    .forward2d = nullptr,
    .backward2d = nullptr,
    .jvp2d = nullptr,
    .gap2d = nullptr,
};

}  // namespace

const Backend& tested_backend() {
  return kHostRows;
}

const char* why_not() {
  return nullptr;
}

}  // namespace tautstring::testing
