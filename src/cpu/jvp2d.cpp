// The forward derivative of the 2D iterations on the CPU: the passes are repeated, each from its
// partition alone, in float64.
//
//   dQb = dQ + b (dQ - dQold);  h = dX - dQb;           dZ = rows' derivative of h
//   h2 = dX - (h - dZ);         dY = columns' of h2;    dQnew = h2 - dY
#include <algorithm>
#include <utility>

#include "cpu/cpu_backend.h"
#include "cpu/image_io.h"
#include "cpu/image_tasks.h"
#include "step/row/row_io.h"
#include "step/segment.h"
#include "tautstring/partition.h"

namespace tautstring::detail {
namespace {

struct TangentScratch {
  TangentScratch(Scratch& scratch, const Images& images) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        x(scratch.take<double>(pixels)),
        in(scratch.take<double>(pixels)),
        out(scratch.take<double>(pixels)),
        q(scratch.take<double>(pixels)),
        q_before(scratch.take<double>(pixels)) {}

  static std::size_t bytes(const Images& images) noexcept {
    Scratch scratch(nullptr);
    TangentScratch(scratch, images);
    return scratch.used();
  }

  std::int64_t pixels;
  double* x;
  double* in;   // of a pass: h, then h2
  double* out;  // dZ, then dY
  double* q;
  double* q_before;
};

class ImageTangent {
 public:
  ImageTangent(const Jvp2d& call, const TangentScratch& scratch, const Context& context) noexcept
      : call_(call),
        s_(scratch),
        context_(context),
        rows_(row_lines(call.solved.images)),
        columns_(column_lines(call.solved.images)) {}

  void operator()(std::int64_t image, std::int64_t /*end*/) noexcept {
    const SolvedImages& solved = call_.solved;
    const Images& images = solved.images;
    if (call_.tangent_x.given) {
      load_image(call_.tangent_x.image(images, image), images.height, images.width, s_.x);
    } else {
      std::fill_n(s_.x, s_.pixels, 0.0);
    }
    std::fill_n(s_.q, s_.pixels, 0.0);
    std::fill_n(s_.q_before, s_.pixels, 0.0);
    const ConstRowArray lam_rows = lam_rows_lines(call_.tangent_lam_rows, images, image);
    const ConstRowArray lam_cols = lam_cols_lines(call_.tangent_lam_cols, images, image);
    const SavedPasses saved(images);
    for (int k = 0; k < iterations_of(solved, image); ++k) {
      if (is_interrupted(context_)) return;
      const double momentum =
          solved.momentum == nullptr ? 0 : solved.momentum[image * solved.iterations + k];
      for (std::int64_t i = 0; i < s_.pixels; ++i) {
        s_.in[i] = s_.x[i] - (s_.q[i] + momentum * (s_.q[i] - s_.q_before[i]));
      }
      pass(rows_, solved.partitions + saved.rows(image, k), lam_rows);
      for (std::int64_t i = 0; i < s_.pixels; ++i) s_.in[i] = s_.x[i] - (s_.in[i] - s_.out[i]);
      pass(columns_, solved.partitions + saved.columns(image, k), lam_cols);
      for (std::int64_t i = 0; i < s_.pixels; ++i) s_.q_before[i] = s_.in[i] - s_.out[i];
      std::swap(s_.q, s_.q_before);
    }
    const bool sharp = solved.mode == Mode::sharp;
    store_image(call_.tangent_y, images, image,
                [&](std::int64_t i) { return sharp ? mirror(s_.x[i], s_.out[i]) : s_.out[i]; });
  }

 private:
  /// out = the mean of `in` over segments, plus the tangents of lam at their borders: the same pass
  /// as in the backward.
  void pass(const Lines& lines, const std::uint32_t* partition, const ConstRowArray& lam) noexcept {
    std::copy_n(s_.in, s_.pixels, s_.out);
    if (lam.given) add_borders(lines, partition, lam);
    Backward1d call;
    call.solved.rows = rows_of(lines);
    call.solved.partition = partition;
    call.grad_y = lines_array<const void>(s_.out, DType::float64, lines);
    call.grad_x = lines_array<void>(s_.out, DType::float64, lines);
    backward1d_checked(call, context_);
  }

  void add_borders(const Lines& lines, const std::uint32_t* partition,
                   const ConstRowArray& lam) noexcept {
    const Rows rows = rows_of(lines);
    for (std::int32_t line = 0; line < lines.count; ++line) {
      const std::uint32_t* codes = partition + line * partition_words(lines.length);
      const RowSpan<const void> lams = lam.row(rows, line);
      double* values = s_.out + line * lines.apart;
      for (std::int32_t i = 1; i < lines.length; ++i) {
        const int sign = jump_sign(code_at(codes, i));
        const double border = sign == 0 ? 0 : sign * load_element(lams, i - 1);
        if (border == 0) continue;
        values[(i - 1) * lines.stride] += border;
        values[i * lines.stride] -= border;
      }
    }
  }

  const Jvp2d& call_;
  TangentScratch s_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
};

}  // namespace

std::size_t iterations_jvp2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, TangentScratch::bytes(images), context).bytes();
}

Status iterations_jvp2d(const Jvp2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  return ImageTasks(images, TangentScratch::bytes(images), context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageTangent(call, TangentScratch(scratch, images), passes);
      });
}

}  // namespace tautstring::detail
