// The derivative of the 2D iterations on the CPU, from the last pass to the first. With S the mean
// over the segments of a pass's partition, h what comes in from Y, q what comes in from Q:
//
//   gQ = (1 + b_{k+1}) q_{k+1} - b_{k+2} q_{k+2};   h = [k last] g - gQ
//   gB = gQ + S_columns h;                          gX += gB
//   gA = -(I - S_rows) gB;                          gX += gA;   q_k = -gA
//
// and each pass adds to the gradient of its lams what its 1D derivative says.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/image_tasks.h"
#include "step/row/row_io.h"

namespace tautline::detail {
namespace {

template <class T>
struct GradientScratch {
  GradientScratch(Scratch& scratch, const Images& images, std::int64_t row_lams,
                  std::int64_t column_lams) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        grad_y(scratch.take<T>(pixels)),
        grad_x(scratch.take<T>(pixels)),
        incoming(scratch.take<T>(pixels)),
        mean(scratch.take<T>(pixels)),
        q_next(scratch.take<T>(pixels)),
        q_after(scratch.take<T>(pixels)),
        pass_lam(scratch.take<T>(std::max(row_lams, column_lams))),
        row_lam(scratch.take<double>(row_lams)),
        column_lam(scratch.take<double>(column_lams)) {}

  static std::size_t bytes(const Images& images, std::int64_t row_lams,
                           std::int64_t column_lams) noexcept {
    Scratch scratch(nullptr);
    GradientScratch(scratch, images, row_lams, column_lams);
    return scratch.used();
  }

  std::int64_t pixels;
  T* grad_y;
  T* grad_x;
  T* incoming;  // h, then gB
  T* mean;      // S of it
  T* q_next;    // q of the iteration behind, and of the one behind that
  T* q_after;
  T* pass_lam;
  double* row_lam;
  double* column_lam;
};

/// Lams that a gradient has for an image: one a line, or one an edge.
std::int64_t lam_count(const ImageArray& gradient) noexcept {
  return gradient.given ? std::int64_t{gradient.height} * gradient.width : 0;
}

template <class T>
class ImageGradient {
 public:
  ImageGradient(const Backward2d& call, const GradientScratch<T>& scratch,
                const Context& context) noexcept
      : call_(call),
        s_(scratch),
        context_(context),
        rows_(row_lines(call.solved.images)),
        columns_(column_lines(call.solved.images)) {}

  void operator()(std::int64_t image) noexcept {
    const bool sharp = call_.solved.mode == Mode::sharp;
    load(call_.grad_y.image(call_.solved.images, image));
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.grad_x[i] = sharp ? 2 * s_.grad_y[i] : T(0);
      if (sharp) s_.grad_y[i] = -s_.grad_y[i];
    }
    std::fill_n(s_.q_next, s_.pixels, T(0));
    std::fill_n(s_.q_after, s_.pixels, T(0));
    std::fill_n(s_.row_lam, lam_count(call_.grad_row_lam), 0.0);
    std::fill_n(s_.column_lam, lam_count(call_.grad_column_lam), 0.0);
    const int done =
        call_.solved.done == nullptr ? call_.solved.iterations : call_.solved.done[image];
    for (int k = done - 1; k >= 0; --k) iterate_back(image, k, k == done - 1, done);
    store(call_.grad_x, image, s_.grad_x, call_.solved.images.height, call_.solved.images.width);
    store(call_.grad_row_lam, image, s_.row_lam, call_.grad_row_lam.height,
          call_.grad_row_lam.width);
    store(call_.grad_column_lam, image, s_.column_lam, call_.grad_column_lam.height,
          call_.grad_column_lam.width);
  }

 private:
  [[nodiscard]] double momentum_of(std::int64_t image, int k, int done) const noexcept {
    if (call_.solved.momentum == nullptr || k >= done) return 0;
    return call_.solved.momentum[image * call_.solved.iterations + k];
  }

  void iterate_back(std::int64_t image, int k, bool is_last, int done) noexcept {
    const auto next = static_cast<T>(momentum_of(image, k + 1, done));
    const auto after = static_cast<T>(momentum_of(image, k + 2, done));
    // q_after becomes gQ: what it was is not needed again.
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.q_after[i] = (1 + next) * s_.q_next[i] - after * s_.q_after[i];
      s_.incoming[i] = (is_last ? s_.grad_y[i] : T(0)) - s_.q_after[i];
    }
    const SavedPasses saved(call_.solved.images);
    pass(columns_, call_.solved.partitions + saved.columns(image, k), call_.grad_column_lam, false,
         s_.column_lam);
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.incoming[i] = s_.q_after[i] + s_.mean[i];
      s_.grad_x[i] += s_.incoming[i];
    }
    pass(rows_, call_.solved.partitions + saved.rows(image, k), call_.grad_row_lam, true,
         s_.row_lam);
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.q_after[i] = s_.incoming[i] - s_.mean[i];
      s_.grad_x[i] -= s_.q_after[i];
    }
    std::swap(s_.q_next, s_.q_after);
  }

  /// mean = S incoming; adds what the pass says of its lams. It cannot fail: the memory is there.
  void pass(const Lines& lines, const std::uint32_t* partition, const ImageArray& lam_gradient,
            bool along_rows, double* lam_sum) noexcept {
    Backward1d call;
    call.solved.rows = rows_of(lines);
    call.solved.partition = partition;
    call.grad_y = lines_array<const void>(s_.incoming, kDType<T>, lines);
    call.grad_x = lines_array<void>(s_.mean, kDType<T>, lines);
    if (lam_gradient.given) {
      const std::int32_t lams = along_rows ? lam_gradient.width : lam_gradient.height;
      // As the gradient is stored: row by row.
      const Lines lam_lines =
          along_rows ? Lines{lines.count, lams, lams, 1} : Lines{lines.count, lams, 1, lines.count};
      call.grad_lam = lines_array<void>(s_.pass_lam, kDType<T>, lam_lines);
    }
    static_cast<void>(backward1d(call, context_));
    for (std::int64_t i = 0; i < lam_count(lam_gradient); ++i) {
      lam_sum[i] += static_cast<double>(s_.pass_lam[i]);
    }
  }

  void load(const ImageSpan<const void>& from) noexcept {
    with_storage(from.dtype, [&](auto storage) {
      const auto* data = static_cast<const decltype(storage)*>(from.data);
      for (std::int32_t r = 0; r < call_.solved.images.height; ++r) {
        for (std::int32_t c = 0; c < call_.solved.images.width; ++c) {
          s_.grad_y[std::int64_t{r} * call_.solved.images.width + c] =
              from_storage<T>(data[r * from.row_stride + c * from.column_stride]);
        }
      }
    });
  }
  template <class Value>
  void store(const ImageArray& array, std::int64_t image, const Value* values, std::int32_t height,
             std::int32_t width) noexcept {
    if (!array.given) return;
    const ImageSpan<void> to = array.image(call_.solved.images, image);
    with_storage(to.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      auto* data = static_cast<Storage*>(to.data);
      for (std::int32_t r = 0; r < height; ++r) {
        for (std::int32_t c = 0; c < width; ++c) {
          data[r * to.row_stride + c * to.column_stride] =
              to_storage<Storage>(values[std::int64_t{r} * width + c]);
        }
      }
    });
  }

  const Backward2d& call_;
  GradientScratch<T> s_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
};

template <class T>
Status backward_in(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  const std::int64_t row_lams = lam_count(call.grad_row_lam);
  const std::int64_t column_lams = lam_count(call.grad_column_lam);
  return ImageTasks(images, GradientScratch<T>::bytes(images, row_lams, column_lams), context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageGradient<T>(call, GradientScratch<T>(scratch, images, row_lams, column_lams),
                                passes);
      });
}

}  // namespace

std::size_t iterations_backward2d_workspace(const Images& images, const Context& context) noexcept {
  const std::int64_t pixels = std::int64_t{images.height} * images.width;  // more than edges
  return ImageTasks(images, GradientScratch<double>::bytes(images, pixels, pixels), context)
      .bytes();
}

Status iterations_backward2d(const Backward2d& call, const Context& context) noexcept {
  return call.grad_y.dtype == DType::float64 ? backward_in<double>(call, context)
                                             : backward_in<float>(call, context);
}

}  // namespace tautline::detail
