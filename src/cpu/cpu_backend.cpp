#include "cpu/cpu_backend.h"

#include <algorithm>

#include "cpu/call_memory.h"
#include "cpu/parallel.h"
#include "cpu/shared_lams.h"
#include "cpu/targets.h"

namespace tautstring::detail {

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept {
  return std::max({row_tasks_bytes(rows, weighted, context), forward1d_workspace(rows, context),
                   backward1d_workspace(rows, weighted, context)});
}

namespace {

/// Scratch bytes of the gradients of images, without those of shared lams.
std::size_t gradients2d_workspace(const Images& images, const Context& context) noexcept {
  return std::max(iterations_backward2d_workspace(images, context),
                  solution2d_workspace(images, context));
}

std::size_t backward2d_workspace(const Images& images, const Context& context) noexcept {
  Scratch scratch(nullptr);
  SharedLams::take_most(scratch, images.count * images.height);
  SharedLams::take_most(scratch, images.count * images.width);
  return scratch.used() + gradients2d_workspace(images, context);
}

}  // namespace

std::size_t workspace2d(const Workspace2d& request, const Context& context) noexcept {
  const Images& images = request.images;
  return std::max({forward2d_workspace(images, context), backward2d_workspace(images, context),
                   iterations_jvp2d_workspace(images, context), gap2d_workspace(images, context)});
}

namespace {

std::span<const char* const> targets() noexcept {
  return cpu_target_list().names();
}

const char* target() noexcept {
  return cpu_target_status().ok() ? chosen_cpu_target().name : nullptr;
}

/// A caller who forces an instruction set wants that one: no call runs on another, and all return
/// the same error.
template <auto kFunction, class Call>
Status on_chosen_target(const Call& call, const Context& context) noexcept {
  const Status status = cpu_target_status();
  return status.ok() ? kFunction(call, context) : status;
}

bool is_empty(const Images& images) noexcept {
  return images.count == 0 || images.height == 0 || images.width == 0;
}

/// Images without pixels may still have lams.
void store_zeros(const ImageArray& array, const Images& images) noexcept {
  for (std::int64_t image = 0; image < images.count; ++image) {
    store_lams(array, images, image, [](std::int64_t) { return 0.0; });
  }
}

Status differentiate2d(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (is_empty(images)) {
    store_zeros(call.grad_lam_rows, images);
    store_zeros(call.grad_lam_cols, images);
    return {};
  }
  return call.solved.derivative == Derivative2d::implicit ? solution_backward2d(call, context)
                                                          : iterations_backward2d(call, context);
}

Status backward2d(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  SharedLams lam_rows(images, call.grad_lam_rows);
  SharedLams lam_cols(images, call.grad_lam_cols);
  if (!lam_rows.is_given() && !lam_cols.is_given()) return differentiate2d(call, context);
  Scratch sizes(nullptr);
  lam_rows.take_memory(sizes);
  lam_cols.take_memory(sizes);
  const bool has_workspace = context.workspace != nullptr;
  const std::size_t others = has_workspace ? gradients2d_workspace(images, context) : 0;
  const CallMemory memory({sizes.used() + others}, context, kWorkspace2d);
  if (!memory.status().ok()) return memory.status();
  Scratch scratch(memory.blocks().working);
  lam_rows.take_memory(scratch);
  lam_cols.take_memory(scratch);
  Context inner = context;
  if (has_workspace) {
    inner.workspace = memory.blocks().working + sizes.used();
    inner.workspace_size = context.workspace_size - sizes.used();
  }
  Backward2d terms = call;
  terms.grad_lam_rows = lam_rows.terms(images, call.grad_lam_rows);
  terms.grad_lam_cols = lam_cols.terms(images, call.grad_lam_cols);
  const Status status = differentiate2d(terms, inner);
  if (!status.ok() || is_interrupted(context)) return status;
  lam_rows.store();
  lam_cols.store();
  return status;
}

Status jvp2d(const Jvp2d& call, const Context& context) noexcept {
  if (is_empty(call.solved.images)) return {};
  return call.solved.derivative == Derivative2d::implicit ? solution_jvp2d(call, context)
                                                          : iterations_jvp2d(call, context);
}

}  // namespace

const Backend kCpuBackend = {
    .targets = targets,
    .target = target,
    .error_text = nullptr,
    .workspace1d = workspace1d,
    .forward1d = on_chosen_target<forward1d>,
    .backward1d = on_chosen_target<backward1d>,
    .jvp1d = on_chosen_target<jvp1d>,
    .certificate1d = on_chosen_target<certificate1d>,
    .lam_max = on_chosen_target<lam_max>,
    .tv = on_chosen_target<tv>,
    .newton_workspace1d = newton1d_workspace,
    .newton1d = on_chosen_target<newton1d>,
    .workspace2d = workspace2d,
    .forward2d = on_chosen_target<forward2d>,
    .backward2d = on_chosen_target<backward2d>,
    .jvp2d = on_chosen_target<jvp2d>,
    .gap2d = on_chosen_target<gap2d>,
    .path_workspace1d = path1d_workspace,
    .path1d = path1d,
    .select_workspace1d = select1d_workspace,
    .select1d = select1d,
};

}  // namespace tautstring::detail
