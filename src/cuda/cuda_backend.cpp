// The CUDA backend: which kernels a call goes to. Values in device memory are
// never looked at from here, as that would wait for the device: a row with a bad
// one comes out NaN.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "backend.h"
#include "cuda/dispatch/rows.h"
#include "cuda/dispatch/unweighted.h"
#include "step/row/row_values.h"

namespace tautline::detail {
namespace {

constexpr const char* kTarget = "cuda";

std::span<const char* const> targets() noexcept {
  return {&kTarget, 1};
}

const char* target() noexcept {
  return kTarget;
}

const char* error_text(int error) noexcept {
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

bool is_empty(const Rows& rows) noexcept {
  return rows.n == 0 || rows.count == 0;
}

/// Some calls have no weights in any case; and fewer, larger slots can be less memory.
std::size_t workspace1d(const Rows& rows, bool weighted, const Context& /*context*/) noexcept {
  const std::size_t bytes = std::max(rows_workspace(rows, false), rows_workspace(rows, weighted));
  return is_empty(rows) ? bytes : std::max(bytes, unweighted_workspace(rows));
}

Status forward1d(const Forward1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.lam); !status.ok()) return status;
  if (is_empty(call.rows)) return {};  // nothing to write
  return call.weight.given ? rows_forward(call, context) : unweighted_forward(call, context);
}

Status backward1d(const Backward1d& call, const Context& context) noexcept {
  const SolvedRows& solved = call.solved;
  if (solved.weight.given) return rows_backward(call, context);
  if (!is_empty(solved.rows)) return unweighted_backward(call, context);
  return call.grad_lam.given ? rows_backward(call, context) : Status{};  // lam may be one a row
}

Status jvp1d(const Jvp1d& call, const Context& context) noexcept {
  return is_empty(call.solved.rows) ? Status{} : rows_jvp(call, context);
}

Status certificate1d(const Certificate1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.lam); !status.ok()) return status;
  return rows_certificate(call, context);
}

}  // namespace

const Backend kCudaBackend = {
    .targets = targets,
    .target = target,
    .error_text = error_text,
    .workspace1d = workspace1d,
    .forward1d = forward1d,
    .backward1d = backward1d,
    .jvp1d = jvp1d,
    .certificate1d = certificate1d,
    .lam_max = rows_lam_max,
    .tv = rows_tv,
};

}  // namespace tautline::detail
