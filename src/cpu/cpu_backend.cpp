#include "cpu/cpu_backend.h"

#include <algorithm>

#include "cpu/image_io.h"
#include "cpu/parallel.h"
#include "cpu/targets.h"

namespace tautstring::detail {

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept {
  return std::max({row_tasks_bytes(rows, weighted, context), forward1d_workspace(rows, context),
                   backward1d_workspace(rows, context)});
}

std::size_t workspace2d(const Workspace2d& request, const Context& context) noexcept {
  const Images& images = request.images;
  return std::max({forward2d_workspace(images, context),
                   iterations_backward2d_workspace(images, context),
                   iterations_jvp2d_workspace(images, context),
                   solution2d_workspace(images, context), gap2d_workspace(images, context)});
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
    store_image(array, images, image, [](std::int64_t) { return 0.0; });
  }
}

Status backward2d(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (is_empty(images)) {
    store_zeros(call.grad_lam_rows, images);
    store_zeros(call.grad_lam_cols, images);
    return {};
  }
  return call.solved.derivative == Derivative2d::implicit ? solution_backward2d(call, context)
                                                          : iterations_backward2d(call, context);
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
};

}  // namespace tautstring::detail
