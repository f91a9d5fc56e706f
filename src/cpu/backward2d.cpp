// The derivative of the 2D iterations on the CPU, from the last pass to the first. With S the mean
// over the segments of a pass's partition, h the incoming gradient of Y and q the one of Q:
//
//   gQ = (1 + b_{k+1}) q_{k+1} - b_{k+2} q_{k+2};   h = [k last] g - gQ
//   gB = gQ + S_columns h;                          gX += gB
//   gA = -(I - S_rows) gB;                          gX += gA;   q_k = -gA
//
// and each pass adds its 1D derivative to the gradient of its lams.
#include <algorithm>
#include <atomic>

#include "cpu/cpu_backend.h"
#include "cpu/image_io.h"
#include "cpu/image_stage.h"
#include "cpu/image_tasks.h"
#include "cpu/line_passes.h"
#include "cpu/shared_lams.h"
#include "cpu/targets.h"
#include "step/row/row_io.h"
#include "step/segment.h"

namespace tautstring::detail {
namespace {

/// The gradient of the lams along rows or columns of one image, summed over the passes.
template <class T>
struct LamSums {
  LamSums(Scratch& scratch, const Lines& lines, const ImageArray& gradient) noexcept
      : count(gradient.given ? std::int64_t{gradient.height} * gradient.width : 0),
        is_by_edge(count != lines.count) {
    by_line = scratch.take<double>(is_by_edge ? 0 : count);
    by_edge = scratch.take<T>(is_by_edge ? count : 0);
  }

  void clear() const noexcept {
    std::fill_n(by_line, is_by_edge ? 0 : count, 0.0);
    std::fill_n(by_edge, is_by_edge ? count : 0, T(0));
  }
  [[nodiscard]] double at(std::int64_t i) const noexcept {
    return is_by_edge ? static_cast<double>(by_edge[i]) : by_line[i];
  }
  void add(std::int64_t i, T value) const noexcept {
    if (is_by_edge) {
      by_edge[i] += value;
    } else {
      by_line[i] += static_cast<double>(value);
    }
  }

  std::int64_t count;
  bool is_by_edge;
  double* by_line;  // as the gradient is stored: row by row
  T* by_edge;
};

bool is_averaged_by_row(const Images& images) noexcept {
  return std::max(images.height, images.width) > kLongestAveraged;
}

template <class T>
struct GradientScratch {
  /// `tasks` threads share a pass.
  GradientScratch(Scratch& scratch, const Images& images, const ImageArray& grad_lam_rows,
                  const ImageArray& grad_lam_cols, int tasks) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        grad_y(scratch.take<T>(pixels)),
        grad_x(scratch.take<T>(pixels)),
        incoming(scratch.take<T>(pixels)),
        mean(scratch.take<T>(is_averaged_by_row(images) ? pixels : 0)),
        q_next(scratch.take<T>(pixels)),
        q_after(scratch.take<T>(pixels)),
        lam_rows(scratch, row_lines(images), grad_lam_rows),
        lam_cols(scratch, column_lines(images), grad_lam_cols),
        pass_lam(scratch.take<T>(std::max(lam_rows.count, lam_cols.count))),
        tile_size(
            std::max(averages_tile<T>(row_lines(images)), averages_tile<T>(column_lines(images)))),
        tiles(scratch.take<T>(tile_size * tasks)) {}

  static std::size_t bytes(const Images& images, const ImageArray& grad_lam_rows,
                           const ImageArray& grad_lam_cols, int tasks,
                           std::int64_t together) noexcept {
    Scratch scratch(nullptr);
    scratch.take<std::byte>(stage_bytes(images, together, sizeof(T)));
    scratch.take<std::byte>(stage_bytes(images, together, sizeof(T)));
    GradientScratch(scratch, images, grad_lam_rows, grad_lam_cols, tasks);
    return scratch.used();
  }

  std::int64_t pixels;
  T* grad_y;
  T* grad_x;
  T* incoming;  // gB; in the last iteration S_columns g
  T* mean;      // of a pass over long lines
  T* q_next;    // q of the next iteration, and of the one after that
  T* q_after;
  LamSums<T> lam_rows;
  LamSums<T> lam_cols;
  T* pass_lam;
  std::int64_t tile_size;
  T* tiles;  // one per task
};

template <class T>
class ImageGradient {
 public:
  ImageGradient(const Backward2d& call, Scratch& scratch, const Context& context,
                std::int64_t together) noexcept
      : call_(call),
        grad_y_(scratch, call.solved.images, call.grad_y, together, sizeof(T)),
        grad_x_(scratch, call.solved.images, call.grad_x, together, sizeof(T)),
        s_(scratch, call.solved.images, call.grad_lam_rows, call.grad_lam_cols,
           concurrency(context)),
        context_(context),
        rows_(row_lines(call.solved.images)),
        columns_(column_lines(call.solved.images)) {}

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    first_ = first;
    grad_y_.load(first, last);
    for (std::int64_t image = first; image < last && !is_interrupted(context_); ++image) {
      differentiate(image);
    }
    if (!is_interrupted(context_)) grad_x_.store(first, last);
  }

 private:
  void differentiate(std::int64_t image) noexcept {
    const Images& images = call_.solved.images;
    const auto& kernels = chosen_cpu_target().kernels<T>();
    load_image(grad_y_.image(image, first_), images.height, images.width, s_.grad_y);
    // Only momentum reads what no iteration has written: as q_after, times 0.
    if (call_.solved.momentum != nullptr) std::fill_n(s_.q_next, s_.pixels, T(0));
    s_.lam_rows.clear();
    s_.lam_cols.clear();
    const int done = iterations_of(call_.solved, image);
    bool goes_back = true;
    bool went_back = true;
    for (int k = done - 1; k >= 0 && (goes_back || went_back); --k) {
      if (is_interrupted(context_)) return;
      went_back = goes_back && k < done - 1;
      goes_back = iterate_back(image, k, done);
    }
    const bool sharp = call_.solved.mode == Mode::sharp;
    if (call_.grad_x.given) {
      kernels.store_pixels({grad_x_.image(image, first_), images.height, images.width, s_.grad_x,
                            images.width, sharp ? s_.grad_y : nullptr, 0});
    }
    const double sign = sharp ? -1 : 1;
    store_lams(call_.grad_lam_rows, images, image,
               [&](std::int64_t i) { return sign * s_.lam_rows.at(i); });
    store_lams(call_.grad_lam_cols, images, image,
               [&](std::int64_t i) { return sign * s_.lam_cols.at(i); });
  }

  [[nodiscard]] T momentum_of(std::int64_t image, int k, int done) const noexcept {
    if (call_.solved.momentum == nullptr || k >= done) return 0;
    return static_cast<T>(call_.solved.momentum[image * call_.solved.iterations + k]);
  }

  /// One pass back: its lines, what is saved of it, and its lams.
  struct Pass {
    const Lines& lines;
    const std::uint32_t* codes;
    const LamSums<T>& lam;
    Lines edges;  // as their gradient is stored: row by row
  };

  /// Returns whether any gradient flows back to the iteration before. If no pass of the last
  /// iteration has a tie, none does, and the gradient of x is that of y bit for bit.
  bool iterate_back(std::int64_t image, int k, int done) noexcept {
    const SavedPasses saved(call_.solved.images);
    const Pass rows = {rows_,
                       call_.solved.partitions + saved.rows(image, k),
                       s_.lam_rows,
                       {rows_.count, rows_.length - 1, rows_.length - 1, 1}};
    const Pass columns = {columns_,
                          call_.solved.partitions + saved.columns(image, k),
                          s_.lam_cols,
                          {columns_.count, columns_.length - 1, 1, columns_.count}};
    if (k == done - 1) {
      average(columns, s_.grad_y, s_.incoming, nullptr, -1);
      std::copy_n(s_.incoming, s_.pixels, s_.grad_x);
    } else {
      const T next = momentum_of(image, k + 1, done);
      const T after = momentum_of(image, k + 2, done);
      const T* grad_q = s_.q_next;
      if (next != 0 || after != 0) {
        for (std::int64_t i = 0; i < s_.pixels; ++i) {
          s_.q_after[i] = (1 + next) * s_.q_next[i] - after * s_.q_after[i];
        }
        grad_q = s_.q_after;
      }
      average(columns, grad_q, s_.incoming, s_.grad_x, 1);  // as h is -gQ
    }
    const bool goes_back = average(rows, s_.incoming, s_.q_after, s_.grad_x, -1);
    std::swap(s_.q_next, s_.q_after);
    return goes_back;
  }

  /// Without `sum`: out = S in. With it: out = in - S in, and sum += sign * out. Subtracts sign
  /// times the gradient of the pass's lams from their sum; returns whether any line has a tie:
  /// if none has, all of in - S in is 0.
  bool average(const Pass& pass, const T* in, T* out, T* sum, int sign) noexcept {
    if (pass.lines.length > kLongestAveraged) return average_rows(pass, in, out, sum, sign);
    LineAverages<T> averages;
    averages.shape = shape_of(pass.lines);
    averages.codes = pass.codes;
    averages.in = in;
    averages.out = out;
    averages.sum = sum;
    averages.sign = static_cast<T>(sign);
    if (pass.lam.count > 0) {
      averages.lam = pass.lam.is_by_edge ? nullptr : pass.lam.by_line;
      averages.edge_lam = pass.lam.is_by_edge ? pass.lam.by_edge : nullptr;
    }
    averages.edges = shape_of(pass.edges);
    averages.lam_sign = static_cast<T>(-sign);
    const auto& kernels = chosen_cpu_target().kernels<T>();
    const std::int64_t groups = (pass.lines.count + kernels.line_lanes - 1) / kernels.line_lanes;
    std::atomic<bool> any_ties = false;
    for_each_chunk(
        Sharing(groups, kLinesTogether, context_), reinterpret_cast<std::byte*>(s_.tiles),
        static_cast<std::size_t>(s_.tile_size) * sizeof(T), context_, [&](Scratch& scratch) {
          return [&, tile = scratch.take<T>(s_.tile_size)](std::int64_t first, std::int64_t last) {
            LineAverages<T> own = averages;
            own.tile = tile;
            if (kernels.average_lines(own, first, last)) any_ties = true;
          };
        });
    return any_ties;
  }

  /// The same for long lines.
  bool average_rows(const Pass& pass, const T* in, T* out, T* sum, int sign) noexcept {
    T* mean = sum == nullptr ? out : s_.mean;
    Backward1d call;
    call.solved.rows = rows_of(pass.lines);
    call.solved.partition = pass.codes;
    call.grad_y = lines_array<const void>(in, kDType<T>, pass.lines);
    call.grad_x = lines_array<void>(mean, kDType<T>, pass.lines);
    if (pass.lam.count > 0) {
      const Lines by_line = {pass.lines.count, 1, 1, 1};
      call.grad_lam =
          lines_array<void>(s_.pass_lam, kDType<T>, pass.lam.is_by_edge ? pass.edges : by_line);
    }
    backward1d_checked(call, context_);
    for (std::int64_t i = 0; i < pass.lam.count; ++i) {
      pass.lam.add(i, static_cast<T>(-sign) * s_.pass_lam[i]);
    }
    bool any = sum == nullptr;
    for (std::int64_t i = 0; sum != nullptr && i < s_.pixels; ++i) {
      out[i] = in[i] - mean[i];
      sum[i] += static_cast<T>(sign) * out[i];
      any |= out[i] != 0;
    }
    return any;
  }

  const Backward2d& call_;
  ImageStage<const void> grad_y_;
  ImageStage<void> grad_x_;
  std::int64_t first_ = 0;  // image of the group
  GradientScratch<T> s_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
};

template <class T>
Status backward_in(const Backward2d& call, const Context& context) noexcept {
  const Images& images = call.solved.images;
  const bool is_staged = is_interleaved(images, call.grad_y) || is_interleaved(images, call.grad_x);
  const std::int64_t together = is_staged ? images_together(images, concurrency(context)) : 1;
  const std::size_t bytes = GradientScratch<T>::bytes(
      images, call.grad_lam_rows, call.grad_lam_cols, pass_tasks(images, context), together);
  return ImageTasks(images, bytes, context, together)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageGradient<T>(call, scratch, passes, together);
      });
}

}  // namespace

std::size_t iterations_backward2d_workspace(const Images& images, const Context& context) noexcept {
  ImageArray largest;  // one lam per edge, and more
  largest.given = true;
  largest.height = images.height;
  largest.width = images.width;
  const std::int64_t together = images_together(images, concurrency(context));
  const int tasks = pass_tasks(images, context);
  const std::size_t bytes =
      std::max(GradientScratch<float>::bytes(images, largest, largest, tasks, together),
               GradientScratch<double>::bytes(images, largest, largest, tasks, together));
  return ImageTasks(images, bytes, context, together).bytes();
}

Status iterations_backward2d(const Backward2d& call, const Context& context) noexcept {
  // Sums of shared gradients are in float64, whatever the arithmetic is.
  const auto is_float64 = [](const auto& array) {
    return array.given && !array.shared && array.dtype == DType::float64;
  };
  const bool wide = is_float64(call.grad_y) || is_float64(call.grad_x) ||
                    is_float64(call.grad_lam_rows) || is_float64(call.grad_lam_cols);
  return wide ? backward_in<double>(call, context) : backward_in<float>(call, context);
}

}  // namespace tautstring::detail
