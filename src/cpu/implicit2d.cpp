// The derivatives of the exact 2D solution on the CPU: means over the components that the last two
// passes leave, and the terms of the jumps between them.
#include "cpu/cpu_backend.h"
#include "cpu/image_components.h"
#include "cpu/image_io.h"
#include "cpu/image_tasks.h"
#include "cpu/shared_lams.h"
#include "step/row/row_io.h"
#include "step/segment.h"

namespace tautstring::detail {
namespace {

/// Memory of one image.
struct ComponentScratch {
  ComponentScratch(Scratch& scratch, const Images& images) noexcept
      : values(scratch.take<double>(std::int64_t{images.height} * images.width)),
        components(scratch, images) {}

  static std::size_t bytes(const Images& images) noexcept {
    Scratch scratch(nullptr);
    ComponentScratch(scratch, images);
    return scratch.used();
  }

  void find(const SolvedImages& solved, std::int64_t image) noexcept {
    const SavedPasses saved(solved.images);
    components.find(solved.partitions + saved.rows(image, 0),
                    solved.partitions + saved.columns(image, 0));
  }

  double* values;  // of its pixels
  Components components;
};

class ComponentGradient {
 public:
  ComponentGradient(const Backward2d& call, Scratch& scratch) noexcept
      : call_(call), images_(call.solved.images), s_(scratch, images_) {}

  void operator()(std::int64_t image, std::int64_t /*end*/) noexcept {
    const bool sharp = call_.solved.mode == Mode::sharp;
    load_image(call_.grad_y.image(images_, image), images_.height, images_.width, s_.values);
    s_.find(call_.solved, image);
    s_.components.sum([&](std::int64_t i) { return s_.values[i]; });
    s_.components.take_means();
    store_image(call_.grad_x, images_, image, [&](std::int64_t i) {
      const double mean = s_.components.mean(i);
      return sharp ? mirror(s_.values[i], mean) : mean;
    });
    store_lam(call_.grad_lam_rows, image, true);
    store_lam(call_.grad_lam_cols, image, false);
  }

 private:
  /// One per line, or one per edge.
  void store_lam(const ImageArray& array, std::int64_t image, bool along_rows) const noexcept {
    const double sign = call_.solved.mode == Mode::sharp ? 1 : -1;
    const auto of_edge = [&](std::int32_t r, std::int32_t c) {
      const int jump = s_.components.jump_behind(along_rows, r, c);
      return jump == 0 ? 0.0 : sign * jump * s_.components.rise_behind(along_rows, r, c);
    };
    const std::int32_t edges = (along_rows ? images_.width : images_.height) - 1;
    const std::int32_t lams = along_rows ? array.width : array.height;
    store_lams(array, images_, image, [&](std::int64_t i) {
      const auto r = static_cast<std::int32_t>(i / array.width);
      const auto c = static_cast<std::int32_t>(i % array.width);
      if (lams == edges) return of_edge(r, c);
      double sum = 0;
      for (std::int32_t e = 0; e < edges; ++e) sum += along_rows ? of_edge(r, e) : of_edge(e, c);
      return sum;
    });
  }

  const Backward2d& call_;
  const Images& images_;
  ComponentScratch s_;
};

/// On a component: (sum of the tangent of x + signed sum of the tangent of lam over the edges at
/// its border) / its size.
class ComponentTangent {
 public:
  ComponentTangent(const Jvp2d& call, Scratch& scratch) noexcept
      : call_(call), images_(call.solved.images), s_(scratch, images_) {}

  void operator()(std::int64_t image, std::int64_t /*end*/) noexcept {
    const std::int64_t pixels = std::int64_t{images_.height} * images_.width;
    if (call_.tangent_x.given) {
      load_image(call_.tangent_x.image(images_, image), images_.height, images_.width, s_.values);
    } else {
      std::fill_n(s_.values, pixels, 0.0);
    }
    s_.find(call_.solved, image);
    s_.components.sum([&](std::int64_t i) { return s_.values[i]; });
    add_lam(call_.tangent_lam_rows, image, true);
    add_lam(call_.tangent_lam_cols, image, false);
    s_.components.take_means();
    const bool sharp = call_.solved.mode == Mode::sharp;
    store_image(call_.tangent_y, images_, image, [&](std::int64_t i) {
      const double mean = s_.components.mean(i);
      return sharp ? mirror(s_.values[i], mean) : mean;
    });
  }

 private:
  void add_lam(const ConstImageArray& array, std::int64_t image, bool along_rows) noexcept {
    if (!array.given) return;
    const ImageSpan<const void> lam = array.image(images_, image);
    s_.components.add_jumps(along_rows, [&](std::int32_t r, std::int32_t c) {
      return load_element({lam.data, lam.dtype, 1, 0}, r * lam.row_stride + c * lam.column_stride);
    });
  }

  const Jvp2d& call_;
  const Images& images_;
  ComponentScratch s_;
};

template <class Worker, class Call>
Status on_components(const Call& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  return ImageTasks(images, ComponentScratch::bytes(images), context)
      .run([&](Scratch& scratch, const Context& /*passes*/) { return Worker(call, scratch); });
}

}  // namespace

std::size_t solution2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, ComponentScratch::bytes(images), context).bytes();
}

Status solution_backward2d(const Backward2d& call, const Context& context) noexcept {
  return on_components<ComponentGradient>(call, context);
}

Status solution_jvp2d(const Jvp2d& call, const Context& context) noexcept {
  return on_components<ComponentTangent>(call, context);
}

}  // namespace tautstring::detail
