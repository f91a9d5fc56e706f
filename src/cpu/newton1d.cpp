// The Newton solver on the CPU: threads share the rows, and a thread has as many at a time as a
// vector has lanes. What lanes do not take or give up, single rows finish.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/targets.h"
#include "cpu/value_checks.h"
#include "step/row/newton_worker.h"

namespace tautline::detail {
namespace {

/// Rows of a task.
class NewtonChunks {
 public:
  NewtonChunks(const NewtonForward1d& call, const CpuTarget& target, Scratch& scratch) noexcept
      : worker_(call, NewtonScratch(scratch, call.problem.rows.n)),
        solve_(target.newton),
        count_(call.problem.rows.n <= kLongestNewtonLane ? target.newton_lanes : 0) {
    lanes_.n = call.problem.rows.n;
    lanes_.iterations = call.newton.iterations;
    lanes_.tol = call.newton.tol;
    if (lanes_.n <= kLongestNewtonLane) take_memory(scratch, lanes_);
  }

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    if (count_ == 0) {
      for (std::int64_t row = first; row < last; ++row) worker_(row);
      return;
    }
    for (std::int64_t row = first; row < last; row += count_) {
      solve(row, static_cast<std::int32_t>(std::min<std::int64_t>(last - row, count_)));
    }
  }

  static std::size_t scratch_bytes(std::int32_t n) noexcept {
    Scratch scratch(nullptr);
    NewtonScratch(scratch, n);
    NewtonLanes lanes = {.n = n};
    if (n <= kLongestNewtonLane) take_memory(scratch, lanes);
    return scratch.used();
  }

 private:
  static void take_memory(Scratch& scratch, NewtonLanes& lanes) noexcept {
    constexpr std::int64_t kReadAhead = 8;  // by a vector of bits
    const std::int64_t samples = newton_lane_samples(lanes.n);
    for (double** array : {&lanes.x, &lanes.lam, &lanes.u, &lanes.next, &lanes.mean, &lanes.rise}) {
      *array = scratch.take<double>(kMostNewtonLanes * samples);
    }
    lanes.fixed = scratch.take<std::uint8_t>(samples + kReadAhead);
  }

  void solve(std::int64_t first, std::int32_t rows) noexcept {
    NewtonLanes lanes = lanes_;
    bool is_staged[kMostNewtonLanes] = {};
    NewtonWorker::StagedRow staged = {};
    for (std::int32_t j = 0; j < count_; ++j) {
      is_staged[j] = j < rows && worker_.stage(first + j, staged);
      lanes.range[j] = is_staged[j] ? staged.range : 0;
      for (std::int32_t i = 0; i < lanes.n; ++i) {
        lanes.x[i * count_ + j] = is_staged[j] ? staged.x[i] : 0;
        lanes.lam[i * count_ + j] = is_staged[j] && i + 1 < lanes.n ? staged.lam[i] : 0;
      }
    }
    solve_(lanes);
    for (std::int32_t j = 0; j < rows; ++j) {
      if (is_staged[j] && lanes.done[j] > 0) {
        finish(first + j, lanes, j);
      } else {
        worker_(first + j);
      }
    }
  }

  void finish(std::int64_t row, const NewtonLanes& lanes, std::int32_t j) noexcept {
    NewtonWorker::StagedRow staged = {};
    static_cast<void>(worker_.stage(row, staged));  // others have been in its place
    double* u = worker_.staged_u();
    std::int32_t* fixed = worker_.staged_fixed();
    std::int32_t fixed_count = 0;
    u[0] = 0;
    for (std::int32_t i = 0; i < lanes.n; ++i) {
      u[i + 1] = lanes.u[i * count_ + j];
      fixed[fixed_count] = i + 1;
      fixed_count += i + 1 < lanes.n ? lanes.fixed[i] >> j & 1 : 0;
    }
    worker_.finish(row, fixed_count, lanes.done[j]);
  }

  NewtonWorker worker_;
  void (*solve_)(NewtonLanes&) noexcept;
  std::int32_t count_;  // lanes; 0: single rows
  NewtonLanes lanes_;
};

}  // namespace

std::size_t newton1d_workspace(const Rows& rows, const Context& context) noexcept {
  const auto tasks = static_cast<std::size_t>(share_rows(rows, context).tasks);
  return NewtonChunks::scratch_bytes(rows.n) * tasks;
}

Status newton1d(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  if (const Status status = check_lam(call.problem.lam, rows); !status.ok()) return status;
  if (rows.count == 0) return {};
  const std::size_t task_bytes = NewtonChunks::scratch_bytes(rows.n);
  const CallMemory memory(newton1d_workspace(rows, context), context, kWorkspaceNewton1d);
  if (!memory.status().ok()) return memory.status();
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(share_rows(rows, context), memory.block(), task_bytes, context,
                 [&](Scratch& scratch) { return NewtonChunks(call, target, scratch); });
  return {};
}

}  // namespace tautline::detail
