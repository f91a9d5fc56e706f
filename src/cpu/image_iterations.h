// The iterations of 2D calls on the CPU: passes of exact 1D solves over an image's rows and
// columns.
//
//   Qb = Q + b (Q - Qold);  Z = rows(X - Qb);  A = Qb + Z;  Y = columns(A);  Qnew = A - Y
//
// A is X - P; P = X - A and Q are the dual variables of rows and columns, whose sum is X - Y.
// Written this way, rows of A that are constant stay so, bit for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/cpu_backend.h"
#include "cpu/image_io.h"
#include "cpu/image_lines.h"
#include "cpu/image_quality.h"
#include "cpu/image_tasks.h"
#include "cpu/line_passes.h"
#include "cpu/row_path.h"
#include "cpu/sum_in_lanes.h"
#include "cpu/targets.h"

namespace tautstring::detail {

/// Memory for the iterations of one image, in the arithmetic of its type, row by row.
template <class T>
struct IterationArrays {
  /// `tasks` threads share a pass.
  IterationArrays(Scratch& scratch, const Images& images, int tasks) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        x(scratch.take<T>(pixels)),
        input(scratch.take<T>(pixels)),
        y(scratch.take<T>(pixels)),
        q(scratch.take<T>(pixels)),
        q_ahead(scratch.take<T>(pixels)),
        parts((pixels + kPixelsAPart - 1) / kPixelsAPart),
        part_sums(scratch.take<double>(parts)),
        quality(scratch, images),
        rows(scratch, row_lines(images), tasks),
        columns(scratch, column_lines(images), tasks) {}

  std::int64_t pixels;
  T* x;
  T* input;  // of the rows, X - Qb; then of the columns, A
  T* y;
  T* q;        // of the iteration before
  T* q_ahead;  // Qb
  std::int64_t parts;
  double* part_sums;
  ImageQuality<T> quality;
  LinePassScratch<T> rows;
  LinePassScratch<T> columns;
};

/// Processes one image after the other: load it, start, then iterate, calling go_on before each
/// further iteration.
template <class T>
class ImageIterations {
 public:
  ImageIterations(const Images& images, const ImageLam& lam_rows, const ImageLam& lam_cols,
                  const IterationArrays<T>& arrays, const Context& context) noexcept
      : images_(images),
        lam_rows_(lam_rows),
        lam_cols_(lam_cols),
        a_(arrays),
        context_(context),
        rows_(row_lines(images)),
        columns_(column_lines(images)),
        row_passes_(rows_, arrays.rows, context),
        column_passes_(columns_, arrays.columns, context) {}

  /// Once iterations are over, q and q_ahead are free for other use.
  [[nodiscard]] const IterationArrays<T>& arrays() const noexcept { return a_; }
  /// What has been subtracted from the image's samples in x.
  [[nodiscard]] T offset() const noexcept { return offset_; }
  [[nodiscard]] const Lines& rows() const noexcept { return rows_; }
  [[nodiscard]] const Lines& columns() const noexcept { return columns_; }

  /// Returns whether all samples are finite. origin_of them is subtracted.
  bool load(const ImageSpan<const void>& x, std::int64_t image) noexcept {
    image_ = image;
    load_image(x, images_.height, images_.width, a_.x);
    const Extent<T> extent = extent_of(a_.x);
    if (!extent.finite) return false;
    offset_ = origin_of(extent.low, extent.high, a_.x[0]);
    if (offset_ != 0) {
      for (std::int64_t i = 0; i < a_.pixels; ++i) a_.x[i] -= offset_;
    }
    const T low = std::abs(extent.low - offset_);
    largest_ = static_cast<double>(std::max(low, std::abs(extent.high - offset_)));
    const EdgeLams lam_rows(lam_rows_, images_, image_);
    const EdgeLams lam_cols(lam_cols_, images_, image_);
    // Without lams in one direction the result has the bits of rows or columns on their own.
    const bool is_1d = images_.width == 1 || images_.height == 1 ||
                       lam_rows.are_zero(images_.height, images_.width - 1) ||
                       lam_cols.are_zero(images_.height - 1, images_.width);
    repairs_rows_ = !is_1d && lam_rows.are_equal_along_rows(images_.height, images_.width - 1) &&
                    row_passes_.take_lams(extent, [&](auto r) { return lam_rows.at(r, 0); });
    repairs_columns_ = !is_1d &&
                       lam_cols.are_equal_along_columns(images_.height - 1, images_.width) &&
                       column_passes_.take_lams(extent, [&](auto c) { return lam_cols.at(0, c); });
    return true;
  }

  /// Starts from 0, or from the caller's array if that is finite.
  void start(const ConstImageArray& from) noexcept {
    bool starts_at_0 = !from.given;
    if (from.given) {
      load_image(from.image(images_, image_), images_.height, images_.width, a_.q);
      starts_at_0 = !extent_of(a_.q).finite;
    }
    if (starts_at_0) std::fill_n(a_.q, a_.pixels, T(0));
    for (std::int64_t i = 0; i < a_.pixels; ++i) {
      a_.q_ahead[i] = a_.q[i];
      a_.input[i] = a_.x[i] - a_.q[i];
    }
    t_ = 1;
    row_passes_.start();
    column_passes_.start();
  }

  /// Runs the two passes; a null partition is not written. With Dykstra's method, if another
  /// iteration follows, Y may not be computed: see go_on.
  void iterate(std::uint32_t* row_partition, std::uint32_t* column_partition,
               bool steps = false) noexcept {
    if (repairs_rows_ && !row_passes_.needs_search()) {
      LinePass<T> pass = row_passes_.pass(row_partition);
      pass.in = a_.input;
      pass.added = a_.q_ahead;
      pass.out = a_.input;
      row_passes_.run(pass);
    } else {
      search(rows_, {lam_rows_.number, lam_rows_lines(lam_rows_.array, images_, image_)}, a_.input,
             a_.input, row_partition, repairs_rows_ ? &row_passes_ : nullptr);
      for_each_pixel([&](std::int64_t i) { a_.input[i] += a_.q_ahead[i]; });
    }
    has_stepped_ = false;
    if (repairs_columns_ && !column_passes_.needs_search()) {
      LinePass<T> pass = column_passes_.pass(column_partition);
      pass.in = a_.input;
      pass.out = a_.y;
      if (steps) {
        pass.out = a_.input;
        pass.x = a_.x;
        pass.next_q = a_.q_ahead;
        has_stepped_ = true;
      }
      column_passes_.run(pass);
    } else {
      search(columns_, {lam_cols_.number, lam_cols_lines(lam_cols_.array, images_, image_)},
             a_.input, a_.y, column_partition, repairs_columns_ ? &column_passes_ : nullptr);
    }
  }

  /// Computes the next input of the rows, with the momentum of the accelerated method, and returns
  /// that momentum.
  double go_on(Method2d method) noexcept {
    if (has_stepped_) return 0;
    if (method == Method2d::dykstra) {
      for_each_pixel([&](std::int64_t i) {
        a_.q_ahead[i] = a_.input[i] - a_.y[i];
        a_.input[i] = a_.x[i] - a_.q_ahead[i];
      });
      return 0;
    }
    // Q takes the memory of Y, which the columns compute again.
    const double scale = this->scale();
    const auto& kernels = chosen_cpu_target().kernels<T>();
    for_each_part(a_.pixels, context_, [&](std::int64_t first, std::int64_t last) {
      a_.part_sums[first / kPixelsAPart] = kernels.take_q(step_at(first), last - first, scale);
    });
    const double leads_away = std::accumulate(a_.part_sums, a_.part_sums + a_.parts, 0.0);
    if (leads_away > 0) t_ = 1;
    const double next = (1 + std::sqrt(1 + 4 * t_ * t_)) / 2;
    const auto momentum = static_cast<T>((t_ - 1) / next);
    t_ = next;
    for_each_part(a_.pixels, context_, [&](std::int64_t first, std::int64_t last) {
      kernels.extrapolate(step_at(first), last - first, momentum);
    });
    std::swap(a_.q, a_.y);
    return static_cast<double>(momentum);
  }

  /// The quality of any values (minus the offset), from the dual variables of rows and columns
  /// after an iteration; multiplied by the square of scale().
  [[nodiscard]] Quality quality_of(const T* y) const noexcept {
    return a_.quality.of(y, {a_.x, a_.input, a_.y, largest_, scale()},
                         EdgeLams(lam_rows_, images_, image_),
                         EdgeLams(lam_cols_, images_, image_));
  }
  [[nodiscard]] double scale() const noexcept { return gap_scale<T>(largest_); }

  [[nodiscard]] Extent<T> extent_of(const T* values) const noexcept {
    constexpr std::int64_t kMost = 1 << 30;
    Extent<T> all = {values[0], values[0], true};
    for (std::int64_t first = 0; first < a_.pixels; first += kMost) {
      const auto count = static_cast<std::int32_t>(std::min(a_.pixels - first, kMost));
      Extent<T> part;
      chosen_cpu_target().kernels<T>().measure_rows(values + first, 0, 1, count, &part);
      all = {std::min(all.low, part.low), std::max(all.high, part.high), all.finite && part.finite};
    }
    return all;
  }

 private:
  [[nodiscard]] AcceleratedStep<T> step_at(std::int64_t pixel) const noexcept {
    return {a_.x + pixel, a_.input + pixel, a_.y + pixel, a_.q + pixel, a_.q_ahead + pixel};
  }

  /// Searches all lines for jumps; `passes`, if given, will repair what it finds.
  void search(const Lines& lines, const RowLam& lam, const T* in, T* out, std::uint32_t* partition,
              LinePasses<T>* passes) const noexcept {
    if (passes != nullptr && partition == nullptr) partition = passes->codes();
    Forward1d call;
    call.rows = rows_of(lines);
    call.lam = lam;
    call.x = lines_array<const void>(in, kDType<T>, lines);
    call.y = lines_array<void>(out, kDType<T>, lines);
    call.partition = partition;
    forward1d_checked(call, context_);
    if (passes != nullptr && !is_interrupted(context_)) passes->keep(partition);
  }

  template <class Use>
  void for_each_pixel(const Use& use) const noexcept {
    for_each_part(a_.pixels, context_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) use(i);
    });
  }

  const Images& images_;
  const ImageLam& lam_rows_;
  const ImageLam& lam_cols_;
  IterationArrays<T> a_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
  // Of the image:
  std::int64_t image_ = 0;
  T offset_ = 0;
  double largest_ = 0;  // |x|, without the offset
  double t_ = 1;        // determines the momentum
  LinePasses<T> row_passes_;
  LinePasses<T> column_passes_;
  bool repairs_rows_ = false;
  bool repairs_columns_ = false;
  bool has_stepped_ = false;  // the pass over the columns computed the next input
};

}  // namespace tautstring::detail
