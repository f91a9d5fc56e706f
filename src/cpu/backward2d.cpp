// The derivative of the 2D iterations on the CPU, from the last pass to the first. With S the mean
// over the segments of a pass's partition, h the incoming gradient of Y and q the one of Q:
//
//   gQ = (1 + b_{k+1}) q_{k+1} - b_{k+2} q_{k+2};   h = [k last] g - gQ
//   gB = gQ + S_columns h;                          gX += gB
//   gA = -(I - S_rows) gB;                          gX += gA;   q_k = -gA
//
// and each pass adds its 1D derivative to the gradient of its lams.
#include <algorithm>

#include "cpu/cpu_backend.h"
#include "cpu/image_io.h"
#include "cpu/image_tasks.h"
#include "step/row/row_io.h"
#include "step/segment.h"

namespace tautstring::detail {
namespace {

template <class T>
struct GradientScratch {
  GradientScratch(Scratch& scratch, const Images& images, std::int64_t lam_rows_count,
                  std::int64_t lam_cols_count) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        grad_y(scratch.take<T>(pixels)),
        grad_x(scratch.take<T>(pixels)),
        incoming(scratch.take<T>(pixels)),
        mean(scratch.take<T>(pixels)),
        q_next(scratch.take<T>(pixels)),
        q_after(scratch.take<T>(pixels)),
        pass_lam(scratch.take<T>(std::max(lam_rows_count, lam_cols_count))),
        lam_rows(scratch.take<double>(lam_rows_count)),
        lam_cols(scratch.take<double>(lam_cols_count)) {}

  static std::size_t bytes(const Images& images, std::int64_t lam_rows_count,
                           std::int64_t lam_cols_count) noexcept {
    Scratch scratch(nullptr);
    GradientScratch(scratch, images, lam_rows_count, lam_cols_count);
    return scratch.used();
  }

  std::int64_t pixels;
  T* grad_y;
  T* grad_x;
  T* incoming;  // h, then gB
  T* mean;      // S of it
  T* q_next;    // q of the next iteration, and of the one after that
  T* q_after;
  T* pass_lam;
  double* lam_rows;
  double* lam_cols;
};

/// Number of lams in the gradient of one image: one per line, or one per edge.
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
    const Images& images = call_.solved.images;
    load_image(call_.grad_y.image(images, image), images.height, images.width, s_.grad_y);
    std::fill_n(s_.q_next, s_.pixels, T(0));
    std::fill_n(s_.q_after, s_.pixels, T(0));
    std::fill_n(s_.lam_rows, lam_count(call_.grad_lam_rows), 0.0);
    std::fill_n(s_.lam_cols, lam_count(call_.grad_lam_cols), 0.0);
    const int done = iterations_of(call_.solved, image);
    bool goes_back = true;
    bool went_back = true;
    for (int k = done - 1; k >= 0 && (goes_back || went_back); --k) {
      if (is_interrupted(context_)) return;
      went_back = goes_back && k < done - 1;
      goes_back = iterate_back(image, k, done);
    }
    const bool sharp = call_.solved.mode == Mode::sharp;
    store_image(call_.grad_x, images, image, [&](std::int64_t i) {
      return sharp ? mirror(s_.grad_y[i], s_.grad_x[i]) : s_.grad_x[i];
    });
    const double sign = sharp ? -1 : 1;
    store_image(call_.grad_lam_rows, images, image,
                [&](std::int64_t i) { return sign * s_.lam_rows[i]; });
    store_image(call_.grad_lam_cols, images, image,
                [&](std::int64_t i) { return sign * s_.lam_cols[i]; });
  }

 private:
  [[nodiscard]] T momentum_of(std::int64_t image, int k, int done) const noexcept {
    if (call_.solved.momentum == nullptr || k >= done) return 0;
    return static_cast<T>(call_.solved.momentum[image * call_.solved.iterations + k]);
  }

  /// Returns whether any gradient flows back to the iteration before. If no pass of the last
  /// iteration has a tie, none does, and the gradient of x is that of y bit for bit.
  bool iterate_back(std::int64_t image, int k, int done) noexcept {
    const SavedPasses saved(call_.solved.images);
    const std::uint32_t* row_codes = call_.solved.partitions + saved.rows(image, k);
    const std::uint32_t* column_codes = call_.solved.partitions + saved.columns(image, k);
    if (k == done - 1) {
      pass(columns_, column_codes, call_.grad_lam_cols, false, s_.grad_y, s_.incoming, s_.lam_cols);
      std::copy_n(s_.incoming, s_.pixels, s_.grad_x);
    } else {
      const T next = momentum_of(image, k + 1, done);
      const T after = momentum_of(image, k + 2, done);
      // q_after becomes gQ: its old value is not needed again.
      for (std::int64_t i = 0; i < s_.pixels; ++i) {
        s_.q_after[i] = (1 + next) * s_.q_next[i] - after * s_.q_after[i];
        s_.incoming[i] = -s_.q_after[i];
      }
      pass(columns_, column_codes, call_.grad_lam_cols, false, s_.incoming, s_.mean, s_.lam_cols);
      for (std::int64_t i = 0; i < s_.pixels; ++i) {
        s_.incoming[i] = s_.q_after[i] + s_.mean[i];
        s_.grad_x[i] += s_.incoming[i];
      }
    }
    pass(rows_, row_codes, call_.grad_lam_rows, true, s_.incoming, s_.mean, s_.lam_rows);
    bool goes_back = false;
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.q_after[i] = s_.incoming[i] - s_.mean[i];
      s_.grad_x[i] -= s_.q_after[i];
      goes_back |= s_.q_after[i] != 0;
    }
    std::swap(s_.q_next, s_.q_after);
    return goes_back;
  }

  /// mean = S in; adds the gradient of the pass's lams.
  void pass(const Lines& lines, const std::uint32_t* partition, const ImageArray& lam_gradient,
            bool along_rows, const T* in, T* mean, double* lam_sum) noexcept {
    Backward1d call;
    call.solved.rows = rows_of(lines);
    call.solved.partition = partition;
    call.grad_y = lines_array<const void>(in, kDType<T>, lines);
    call.grad_x = lines_array<void>(mean, kDType<T>, lines);
    if (lam_gradient.given) {
      const std::int32_t lams = along_rows ? lam_gradient.width : lam_gradient.height;
      // As the gradient is stored: row by row.
      const Lines lam_lines =
          along_rows ? Lines{lines.count, lams, lams, 1} : Lines{lines.count, lams, 1, lines.count};
      call.grad_lam = lines_array<void>(s_.pass_lam, kDType<T>, lam_lines);
    }
    backward1d_checked(call, context_);
    for (std::int64_t i = 0; i < lam_count(lam_gradient); ++i) {
      lam_sum[i] += static_cast<double>(s_.pass_lam[i]);
    }
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
  const std::int64_t lam_rows_count = lam_count(call.grad_lam_rows);
  const std::int64_t lam_cols_count = lam_count(call.grad_lam_cols);
  return ImageTasks(images, GradientScratch<T>::bytes(images, lam_rows_count, lam_cols_count),
                    context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageGradient<T>(
            call, GradientScratch<T>(scratch, images, lam_rows_count, lam_cols_count), passes);
      });
}

}  // namespace

std::size_t iterations_backward2d_workspace(const Images& images, const Context& context) noexcept {
  const std::int64_t pixels = std::int64_t{images.height} * images.width;  // more than edges
  return ImageTasks(images, GradientScratch<double>::bytes(images, pixels, pixels), context)
      .bytes();
}

Status iterations_backward2d(const Backward2d& call, const Context& context) noexcept {
  const auto is_float64 = [](const auto& array) {
    return array.given && array.dtype == DType::float64;
  };
  const bool wide = is_float64(call.grad_y) || is_float64(call.grad_x) ||
                    is_float64(call.grad_lam_rows) || is_float64(call.grad_lam_cols);
  return wide ? backward_in<double>(call, context) : backward_in<float>(call, context);
}

}  // namespace tautstring::detail
