#include "cuda/dispatch/image_components.h"

#include "cuda/dispatch/component_means.cuh"
#include "cuda/dispatch/workspace.h"

namespace tautline::detail {
namespace {

struct DerivativeArrays {
  DerivativeArrays(Scratch& scratch, const Images& images) noexcept
      : components(scratch, images, scratch.take<std::int32_t>(images.count * pixels_of(images))),
        means(scratch.take<double>(images.count * pixels_of(images))) {}

  ComponentArrays components;
  double* means;
};

void write_lam_gradient(const ComponentMeans& components, const double* means,
                        const Backward2d& call, const ImageArray& gradient, Lines2d lines,
                        Launches& launches) noexcept {
  const Images& images = call.solved.images;
  const PackedElements elements = elements_of(gradient, images);
  if (!gradient.given || elements.count == 0) return;
  const LamGradientCall lam = {components.passes(),
                               means,
                               call.solved.mode == Mode::sharp ? -1.0 : 1.0,
                               lines == Lines2d::rows,
                               gradient.height,
                               gradient.width,
                               elements,
                               place_own(gradient, images),
                               gradient.data,
                               gradient.dtype};
  launches.launch_over(&kernel_lam_gradient, elements.count, lam);
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
  launches.pack(call.grad_y, images, components.values());
  components.find();
  components.average(memory.means);
  write_lam_gradient(components, memory.means, call, call.grad_row_lam, Lines2d::rows, launches);
  write_lam_gradient(components, memory.means, call, call.grad_column_lam, Lines2d::columns,
                     launches);
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
  components.find();
  components.add_pulls(place_lam(call.tangent_row_lam, images, Lines2d::rows),
                       place_lam(call.tangent_column_lam, images, Lines2d::columns));
  components.average(memory.means);
  if (call.solved.mode == Mode::sharp) {
    load_tangent();
    components.over_tiles(&kernel_mirror_values, components.values(), memory.means);
  }
  launches.unpack(call.tangent_y, images, memory.means);
  return launches.status();
}

}  // namespace tautline::detail
