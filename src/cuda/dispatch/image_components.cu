#include "cuda/dispatch/image_components.h"

#include "cuda/dispatch/component_means.cuh"
#include "cuda/dispatch/workspace.h"

namespace tautstring::detail {
namespace {

struct DerivativeArrays {
  DerivativeArrays(Scratch& scratch, const Images& images) noexcept
      : components(scratch, images, ComponentArrays::take_parents(scratch, images)),
        means(scratch.take<double>(images.count * pixels_of(images))) {}

  ComponentArrays components;
  double* means;
};

LamGradient lay_out(const ImageArray& gradient, const Backward2d& call, Lines2d lines) noexcept {
  const Images& images = call.solved.images;
  if (!gradient.given || elements_of(gradient, images).count == 0) return {};
  return {gradient.data,
          gradient.dtype,
          place_own(gradient, images),
          gradient.height,
          gradient.width,
          lines == Lines2d::rows,
          call.solved.mode == Mode::sharp ? -1.0 : 1.0};
}

Status check_memory(const Images& images, const Context& context) noexcept {
  return check_workspace(image_components_workspace(images), context, kImagesWorkspace);
}

}  // namespace

std::size_t image_components_workspace(const Images& images) noexcept {
  Scratch scratch(nullptr);
  DerivativeArrays(scratch, images);
  return scratch.used();
}

Status image_components_backward(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (const Status status = check_memory(images, context); !status.ok()) return status;
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  const DerivativeArrays memory(scratch, images);
  Launches launches(context);
  ComponentMeans components(images, call.solved.partitions, memory.components, launches);
  const LamGradient lam_rows = lay_out(call.grad_lam_rows, call, Lines2d::rows);
  const LamGradient lam_cols = lay_out(call.grad_lam_cols, call, Lines2d::columns);
  if (components.are_small()) {
    const SmallSolutionGradients small = {components.passes(),
                                          call.solved.mode == Mode::sharp,
                                          place_pixels(call.grad_y, images),
                                          place_pixels(call.grad_x, images),
                                          lam_rows,
                                          lam_cols};
    components.over_small_images(&kernel_small_solution_gradients, small);
    return launches.status();
  }
  launches.pack(call.grad_y, images, components.values());
  components.average(memory.means);
  const auto write_lam = [&](const LamGradient& gradient, const ImageArray& array) {
    if (gradient.data == nullptr) return;
    const PackedElements elements = elements_of(array, images);
    launches.launch_over(&kernel_lam_gradient, elements.count, gradient, components.passes(),
                         memory.means, elements);
  };
  write_lam(lam_rows, call.grad_lam_rows);
  write_lam(lam_cols, call.grad_lam_cols);
  if (call.solved.mode == Mode::sharp) {
    components.over_tiles(&kernel_mirror_values, components.values(), memory.means);
  }
  launches.unpack(call.grad_x, images, memory.means);
  return launches.status();
}

Status image_components_jvp(const Jvp2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (const Status status = check_memory(images, context); !status.ok()) return status;
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  const DerivativeArrays memory(scratch, images);
  Launches launches(context);
  ComponentMeans components(images, call.solved.partitions, memory.components, launches);
  const auto load_tangent = [&] {
    if (call.tangent_x.given) {
      launches.pack(call.tangent_x, images, components.values());
    } else {
      const auto all = static_cast<std::size_t>(images.count * pixels_of(images));
      launches.add(
          cudaMemsetAsync(components.values(), 0, all * sizeof(double), launches.stream()));
    }
  };
  load_tangent();
  components.average_pulled(place_lam(call.tangent_lam_rows, images, Lines2d::rows),
                            place_lam(call.tangent_lam_cols, images, Lines2d::columns),
                            memory.means);
  if (call.solved.mode == Mode::sharp) {
    load_tangent();
    components.over_tiles(&kernel_mirror_values, components.values(), memory.means);
  }
  launches.unpack(call.tangent_y, images, memory.means);
  return launches.status();
}

}  // namespace tautstring::detail
