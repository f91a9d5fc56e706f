// The CUDA backend: selects the kernels for each call. It never reads values in device memory,
// because that would wait for the device. A row with an invalid value becomes NaN instead.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "backend.h"
#include "cuda/dispatch/image_candidates.h"
#include "cuda/dispatch/image_components.h"
#include "cuda/dispatch/image_passes.h"
#include "cuda/dispatch/newton.h"
#include "cuda/dispatch/rows.h"
#include "cuda/dispatch/small_images.h"
#include "cuda/dispatch/unweighted.h"
#include "step/row/row_values.h"

namespace tautstring::detail {
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

/// The larger of both layouts: some calls never have weights, and fewer but larger slots can take
/// less memory in total.
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
  return call.grad_lam.given ? rows_backward(call, context) : Status{};  // lam may be per row
}

Status jvp1d(const Jvp1d& call, const Context& context) noexcept {
  return is_empty(call.solved.rows) ? Status{} : rows_jvp(call, context);
}

Status certificate1d(const Certificate1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.lam); !status.ok()) return status;
  return rows_certificate(call, context);
}

std::size_t newton_workspace1d(const Rows& rows, const Context& /*context*/) noexcept {
  return is_empty(rows) ? 0 : newton_workspace(rows);
}

Status newton1d(const NewtonForward1d& call, const Context& context) noexcept {
  if (const Status status = check_lam_number(call.problem.lam); !status.ok()) return status;
  if (!is_empty(call.problem.rows)) return newton_forward(call, context);
  return empty_newton_forward(call, context);
}

bool is_empty(const Images& images) noexcept {
  return images.count == 0 || images.height == 0 || images.width == 0;
}

std::size_t workspace2d(const Workspace2d& request, const Context& /*context*/) noexcept {
  const auto& [images, dtype, by_edge, plain] = request;
  if (is_empty(images) || (plain && are_for_blocks(images, dtype, by_edge))) return 0;
  return std::max({image_passes_workspace(images, dtype), image_components_workspace(images),
                   image_candidates_workspace(images)});
}

template <class Call>
Status check_lam_numbers(const Call& call) noexcept {
  for (const ImageLam* lam : {&call.lam_rows, &call.lam_cols}) {
    Status status = check_lam_number({lam->number, {nullptr, DType::float32, lam->array.given}});
    if (status.ok()) continue;
    status.argument = lam->name;
    return status;
  }
  return {};
}

Status forward2d(const Forward2d& call, const Context& context) noexcept {
  if (const Status status = check_lam_numbers(call); !status.ok()) return status;
  if (is_empty(call.images)) return empty_images_forward(call, context);
  return is_for_a_block(call) ? small_images_forward(call, context)
                              : image_passes_forward(call, context);
}

Status backward2d(const Backward2d& call, const Context& context) noexcept {
  if (is_empty(call.solved.images)) return empty_images_backward(call, context);
  if (call.solved.derivative == Derivative2d::implicit) {
    return image_components_backward(call, context);
  }
  return is_for_a_block(call) ? small_images_backward(call, context)
                              : image_passes_backward(call, context);
}

Status jvp2d(const Jvp2d& call, const Context& context) noexcept {
  if (is_empty(call.solved.images)) return {};
  return call.solved.derivative == Derivative2d::implicit ? image_components_jvp(call, context)
                                                          : image_passes_jvp(call, context);
}

Status gap2d(const Gap2d& call, const Context& context) noexcept {
  if (const Status status = check_lam_numbers(call); !status.ok()) return status;
  return is_empty(call.images) ? empty_images_gap(call, context)
                               : image_candidates_gap(call, context);
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
    .newton_workspace1d = newton_workspace1d,
    .newton1d = newton1d,
    .workspace2d = workspace2d,
    .forward2d = forward2d,
    .backward2d = backward2d,
    .jvp2d = jvp2d,
    .gap2d = gap2d,
};

}  // namespace tautstring::detail
