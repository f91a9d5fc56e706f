#include "cuda/dispatch/image_components.h"

#include <limits>

#include "cuda/dispatch/image_launches.cuh"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_components.cuh"
#include "step/row/scratch.h"

namespace tautline::detail {
namespace {

struct ComponentArrays {
  ComponentArrays(Scratch& scratch, const Images& images) noexcept {
    const std::int64_t all = images.count * pixels_of(images);
    parents = scratch.take<std::int32_t>(all);
    sizes = scratch.take<std::int32_t>(all);
    sums = scratch.take<unsigned long long>(all);
    values = scratch.take<double>(all);
    means = scratch.take<double>(all);
    largest = scratch.take<double>(images.count);
  }

  std::int32_t* parents;
  std::int32_t* sizes;
  unsigned long long* sums;
  double* values;
  double* means;
  double* largest;
};

LastPasses last_passes(const SolvedImages& solved) noexcept {
  const SavedPasses saved(solved.images);
  return {solved.partitions + saved.rows(0, 0), solved.partitions + saved.columns(0, 0),
          solved.images.height, solved.images.width};
}

/// The linear map that both derivatives share: values to the means of their components.
class ComponentMeans {
 public:
  ComponentMeans(const SolvedImages& solved, Scratch scratch, const Context& context) noexcept
      : images_(solved.images),
        tiles_(pixels_of(solved.images)),
        arrays_(scratch, solved.images),
        passes_(last_passes(solved)),
        launches_(context) {
    // Pixels are counted in 32 bits.
    if (tiles_.pixels > std::numeric_limits<std::int32_t>::max()) {
      launches_.add(cudaErrorInvalidConfiguration);
    }
  }

  [[nodiscard]] double* values() const noexcept { return arrays_.values; }
  [[nodiscard]] double* means() const noexcept { return arrays_.means; }
  [[nodiscard]] const LastPasses& passes() const noexcept { return passes_; }
  [[nodiscard]] Launches& launches() noexcept { return launches_; }

  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }
  /// means from values.
  void average() noexcept {
    launches_.launch(&kernel_largest<double>, images_.count, arrays_.values, tiles_.pixels,
                     arrays_.largest);
    const Components components = {arrays_.parents, arrays_.sizes, arrays_.sums, arrays_.largest};
    over_tiles(&kernel_begin_components, components);
    over_tiles(&kernel_join_components, passes_, components);
    over_tiles(&kernel_sum_components, arrays_.values, components);
    over_tiles(&kernel_average_components, components, arrays_.means);
  }

 private:
  const Images& images_;
  const ImageTiles tiles_;
  const ComponentArrays arrays_;
  const LastPasses passes_;
  Launches launches_;
};

void write_lam_gradient(ComponentMeans& components, const Backward2d& call,
                        const ImageArray& gradient, Lines2d lines) noexcept {
  const Images& images = call.solved.images;
  const PackedElements elements = elements_of(gradient, images);
  if (!gradient.given || elements.count == 0) return;
  const LamGradientCall lam = {components.passes(),
                               components.means(),
                               call.solved.mode == Mode::sharp ? -1.0 : 1.0,
                               lines == Lines2d::rows,
                               gradient.height,
                               gradient.width,
                               elements,
                               place_own(gradient, images),
                               gradient.data,
                               gradient.dtype};
  components.launches().launch_over(&kernel_lam_gradient, elements.count, lam);
}

Status check_memory(const Images& images, const Context& context) noexcept {
  return check_workspace(image_components_workspace(images), context);
}

}  // namespace

std::size_t image_components_workspace(const Images& images) noexcept {
  Scratch scratch(nullptr);
  ComponentArrays(scratch, images);
  return scratch.used();
}

Status image_components_backward(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (const Status status = check_memory(images, context); !status.ok()) return status;
  ComponentMeans components(call.solved, Scratch(static_cast<std::byte*>(context.workspace)),
                            context);
  components.launches().pack(call.grad_y, images, components.values());
  components.average();
  write_lam_gradient(components, call, call.grad_row_lam, Lines2d::rows);
  write_lam_gradient(components, call, call.grad_column_lam, Lines2d::columns);
  if (call.solved.mode == Mode::sharp) {
    components.over_tiles(&kernel_mirror_values, components.values(), components.means());
  }
  components.launches().unpack(call.grad_x, images, components.means());
  return components.launches().status();
}

Status image_components_jvp(const Jvp2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  if (const Status status = check_memory(images, context); !status.ok()) return status;
  ComponentMeans components(call.solved, Scratch(static_cast<std::byte*>(context.workspace)),
                            context);
  Launches& launches = components.launches();
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
  components.over_tiles(&kernel_add_pulls, components.passes(),
                        place_lam(call.tangent_row_lam, images, Lines2d::rows),
                        place_lam(call.tangent_column_lam, images, Lines2d::columns),
                        components.values());
  components.average();
  if (call.solved.mode == Mode::sharp) {
    load_tangent();
    components.over_tiles(&kernel_mirror_values, components.values(), components.means());
  }
  launches.unpack(call.tangent_y, images, components.means());
  return launches.status();
}

}  // namespace tautline::detail
