// The derivative of the exact 2D solution on the CPU: components of pixels by a union-find over
// the ties of the last two passes, means over them, differences of these at jumps.
#include <algorithm>
#include <utility>

#include "cpu/cpu_backend.h"
#include "cpu/image_tasks.h"
#include "step/row/row_io.h"
#include "tautline/partition.h"

namespace tautline::detail {
namespace {

struct ComponentScratch {
  ComponentScratch(Scratch& scratch, const Images& images) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        parent(scratch.take<std::int64_t>(pixels)),
        size(scratch.take<double>(pixels)),
        sum(scratch.take<double>(pixels)),
        mean(scratch.take<double>(pixels)) {}

  static std::size_t bytes(const Images& images) noexcept {
    Scratch scratch(nullptr);
    ComponentScratch(scratch, images);
    return scratch.used();
  }

  std::int64_t pixels;
  std::int64_t* parent;
  double* size;  // of a component, at its root, and its sum of gradients
  double* sum;
  double* mean;  // of each pixel's component
};

class ComponentGradient {
 public:
  ComponentGradient(const Backward2d& call, const ComponentScratch& scratch) noexcept
      : call_(call),
        s_(scratch),
        height_(call.solved.images.height),
        width_(call.solved.images.width),
        saved_(call.solved.images) {}

  void operator()(std::int64_t image) noexcept {
    row_codes_ = call_.solved.partitions + saved_.rows(image, 0);
    column_codes_ = call_.solved.partitions + saved_.columns(image, 0);
    const ImageSpan<const void> grad_y = call_.grad_y.image(call_.solved.images, image);
    for (std::int64_t i = 0; i < s_.pixels; ++i) s_.parent[i] = i;
    for (std::int32_t r = 0; r < height_; ++r) {
      for (std::int32_t c = 0; c < width_; ++c) {
        if (c > 0 && row_code(r, c) == Code::continues) join(at(r, c - 1), at(r, c));
        if (r > 0 && column_code(r, c) == Code::continues) join(at(r - 1, c), at(r, c));
      }
    }
    average(grad_y);
    const double sign = call_.solved.mode == Mode::sharp ? -1 : 1;
    write(call_.grad_x, image, height_, width_, [&](std::int32_t r, std::int32_t c) {
      const double mean = s_.mean[at(r, c)];
      return call_.solved.mode == Mode::sharp ? 2 * load(grad_y, r, c) - mean : mean;
    });
    write_lam(call_.grad_row_lam, image, true, sign);
    write_lam(call_.grad_column_lam, image, false, sign);
  }

 private:
  [[nodiscard]] std::int64_t at(std::int32_t r, std::int32_t c) const noexcept {
    return std::int64_t{r} * width_ + c;
  }
  [[nodiscard]] Code row_code(std::int32_t r, std::int32_t c) const noexcept {
    return code_at(row_codes_ + r * partition_words(width_), c);
  }
  [[nodiscard]] Code column_code(std::int32_t r, std::int32_t c) const noexcept {
    return code_at(column_codes_ + c * partition_words(height_), r);
  }
  [[nodiscard]] static double load(const ImageSpan<const void>& from, std::int32_t r,
                                   std::int32_t c) noexcept {
    return load_element({from.data, from.dtype, 1, 0},
                        r * from.row_stride + c * from.column_stride);
  }

  std::int64_t root(std::int64_t i) noexcept {
    while (s_.parent[i] != i) {
      s_.parent[i] = s_.parent[s_.parent[i]];
      i = s_.parent[i];
    }
    return i;
  }
  /// The first pixel of a component is its root, whatever the order: one result for all.
  void join(std::int64_t a, std::int64_t b) noexcept {
    a = root(a);
    b = root(b);
    if (a > b) std::swap(a, b);
    s_.parent[b] = a;
  }

  void average(const ImageSpan<const void>& grad_y) noexcept {
    std::fill_n(s_.size, s_.pixels, 0.0);
    std::fill_n(s_.sum, s_.pixels, 0.0);
    for (std::int32_t r = 0; r < height_; ++r) {
      for (std::int32_t c = 0; c < width_; ++c) {
        const std::int64_t component = root(at(r, c));
        s_.size[component] += 1;
        s_.sum[component] += load(grad_y, r, c);
      }
    }
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      const std::int64_t component = root(i);
      s_.mean[i] = s_.sum[component] / s_.size[component];
    }
  }

  /// One a line, or one an edge.
  void write_lam(const ImageArray& array, std::int64_t image, bool along_rows,
                 double sign) noexcept {
    const auto of_edge = [&](std::int32_t r, std::int32_t c) {
      const Code code = along_rows ? row_code(r, c + 1) : column_code(r + 1, c);
      const std::int64_t next = along_rows ? at(r, c + 1) : at(r + 1, c);
      return -sign * jump_sign(code) * (s_.mean[next] - s_.mean[at(r, c)]);
    };
    const std::int32_t edges = (along_rows ? width_ : height_) - 1;
    const std::int32_t lams = along_rows ? array.width : array.height;
    write(array, image, array.height, array.width, [&](std::int32_t r, std::int32_t c) {
      if (lams == edges) return of_edge(r, c);
      double sum = 0;
      for (std::int32_t e = 0; e < edges; ++e) sum += along_rows ? of_edge(r, e) : of_edge(e, c);
      return sum;
    });
  }

  template <class ValueAt>
  void write(const ImageArray& array, std::int64_t image, std::int32_t height, std::int32_t width,
             const ValueAt& value_at) const noexcept {
    if (!array.given) return;
    const ImageSpan<void> to = array.image(call_.solved.images, image);
    with_storage(to.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      auto* data = static_cast<Storage*>(to.data);
      for (std::int32_t r = 0; r < height; ++r) {
        for (std::int32_t c = 0; c < width; ++c) {
          data[r * to.row_stride + c * to.column_stride] = to_storage<Storage>(value_at(r, c));
        }
      }
    });
  }

  const Backward2d& call_;
  const ComponentScratch s_;
  const std::int32_t height_;
  const std::int32_t width_;
  const SavedPasses saved_;
  const std::uint32_t* row_codes_ = nullptr;
  const std::uint32_t* column_codes_ = nullptr;
};

}  // namespace

std::size_t solution_backward2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, ComponentScratch::bytes(images), context).bytes();
}

Status solution_backward2d(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  return ImageTasks(images, ComponentScratch::bytes(images), context)
      .run([&](Scratch& scratch, const Context& /*passes*/) {
        return ComponentGradient(call, ComponentScratch(scratch, images));
      });
}

}  // namespace tautline::detail
