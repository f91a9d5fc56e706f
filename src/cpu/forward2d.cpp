// 2D forward on the CPU: passes of exact 1D solves over an image's rows and columns.
//
//   Qb = Q + b (Q - Qold);  Z = rows(X - Qb);  A = Qb + Z;  Y = columns(A);  Qnew = A - Y
//
// A is X - P, and P = X - A and Q are what rows and columns hold of X - Y. So written, rows of A
// that are constant stay so, bit for bit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cpu/cpu_backend.h"
#include "cpu/image_components.h"
#include "cpu/image_io.h"
#include "cpu/image_quality.h"
#include "cpu/image_tasks.h"
#include "cpu/sum_in_lanes.h"
#include "cpu/targets.h"
#include "cpu/value_checks.h"
#include "step/row/row_io.h"
#include "step/segment.h"

namespace tautline::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Memory of one image, in the arithmetic of its type, row by row.
template <class T>
struct ImageScratch {
  ImageScratch(Scratch& scratch, const Images& images, bool polishes) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        x(scratch.take<T>(pixels)),
        input(scratch.take<T>(pixels)),
        y(scratch.take<T>(pixels)),
        q(scratch.take<T>(pixels)),
        q_ahead(scratch.take<T>(pixels)),
        parts((pixels + kPixelsAPart - 1) / kPixelsAPart),
        part_sums(scratch.take<double>(parts)),
        quality(scratch, images),
        components(scratch, polishes ? images : Images{}) {
    if (!polishes) return;
    row_codes = scratch.take<std::uint32_t>(SavedPasses(images).row_words);
    column_codes = scratch.take<std::uint32_t>(SavedPasses(images).column_words);
  }

  static std::size_t bytes(const Images& images, bool polishes) noexcept {
    Scratch scratch(nullptr);
    ImageScratch(scratch, images, polishes);
    return scratch.used();
  }

  std::int64_t pixels;
  T* x;
  T* input;  // of the rows, X - Qb; then of the columns, A
  T* y;
  T* q;        // of the iteration before
  T* q_ahead;  // Qb
  std::int64_t parts;
  double* part_sums;
  ImageQuality<T> quality;
  // For polishing only:
  Components components;
  std::uint32_t* row_codes = nullptr;  // of the last passes, where the caller does not want them
  std::uint32_t* column_codes = nullptr;
};

/// Where the solution's derivatives are wanted of images that have come near it, the components
/// that these are taken on also give its values.
bool polishes(const Solver2d& solver) noexcept {
  return solver.derivative == Derivative2d::of_solution && solver.tol > 0;
}

template <class T>
class ImageSolver {
 public:
  ImageSolver(const Forward2d& call, const ImageScratch<T>& scratch,
              const Context& context) noexcept
      : call_(call),
        images_(call.images),
        s_(scratch),
        context_(context),
        rows_(row_lines(call.images)),
        columns_(column_lines(call.images)) {}

  void operator()(std::int64_t image) noexcept {
    const bool is_copied =
        EdgeLams(call_.row_lam, images_, image).are_zero(images_.height, images_.width - 1) &&
        EdgeLams(call_.column_lam, images_, image).are_zero(images_.height - 1, images_.width);
    if (is_copied) return copy(image);
    if (!load(image)) return store_nan(image);
    start(image);
    const RowLam row_lam = {call_.row_lam.number,
                            row_lam_lines(call_.row_lam.array, images_, image)};
    const RowLam column_lam = {call_.column_lam.number,
                               column_lam_lines(call_.column_lam.array, images_, image)};
    double t = 1;
    double momentum = 0;
    double gap = kNan;
    int done = 0;
    for (bool stops = false; !stops;) {
      if (call_.momentum != nullptr) momentum_of(image)[done] = momentum;
      pass(rows_, row_lam, s_.input, s_.input, partition_of(image, done, true));
      for_each_pixel([&](std::int64_t i) { s_.input[i] += s_.q_ahead[i]; });
      pass(columns_, column_lam, s_.input, s_.y, partition_of(image, done, false));
      ++done;
      stops = done == call_.solver.iterations;
      const bool looks = call_.solver.tol > 0 && (stops || done % kIterationsBetweenLooks == 0);
      if (looks || (stops && call_.gap != nullptr)) {
        const Quality quality = quality_of(image, s_.y);
        gap = quality.gap;
        stops = stops || (std::isfinite(gap) && gap <= call_.solver.tol * quality.objective);
      }
      if (!stops) momentum = go_on(t);
    }
    if (call_.iterations != nullptr) call_.iterations[image] = done;
    store_image(call_.dual, images_, image, [&](std::int64_t i) { return s_.input[i] - s_.y[i]; });
    finish(image, gap);
  }

 private:
  static constexpr int kIterationsBetweenLooks = 4;

  [[nodiscard]] double* momentum_of(std::int64_t image) const noexcept {
    return call_.momentum + image * call_.solver.iterations;
  }
  /// How many iterations' partitions are kept.
  [[nodiscard]] int kept_iterations() const noexcept {
    return call_.solver.derivative == Derivative2d::of_solution ? 1 : call_.solver.iterations;
  }
  /// Where a pass's partition goes: with those of all passes, or over that of the pass before.
  [[nodiscard]] std::uint32_t* partition_of(std::int64_t image, int iteration,
                                            bool of_rows) const noexcept {
    if (call_.partitions == nullptr) return of_rows ? s_.row_codes : s_.column_codes;
    const SavedPasses saved(images_);
    const int kept = std::min(iteration, kept_iterations() - 1);
    return call_.partitions + (of_rows ? saved.rows(image, kept) : saved.columns(image, kept));
  }

  /// Whether all samples are finite. Those far from 0, for how far they are apart, are taken from
  /// the first on: that loses nothing, and then nothing is lost between the passes.
  bool load(std::int64_t image) noexcept {
    load_image(call_.x.image(images_, image), images_.height, images_.width, s_.x);
    const Extent<T> extent = extent_of(s_.x);
    if (!extent.finite) return false;
    const bool is_far = (extent.low > 0 && extent.high / 2 <= extent.low) ||
                        (extent.high < 0 && extent.low / 2 >= extent.high);
    offset_ = is_far ? s_.x[0] : T(0);
    if (is_far) {
      for (std::int64_t i = 0; i < s_.pixels; ++i) s_.x[i] -= offset_;
    }
    const T low = std::abs(extent.low - offset_);
    largest_ = static_cast<double>(std::max(low, std::abs(extent.high - offset_)));
    return true;
  }

  /// From the last iteration to the result, and its gap.
  void finish(std::int64_t image, double gap) noexcept {
    const T* y = s_.y;
    if (polishes(call_.solver)) {
      polish(image, s_.q_ahead);
      const double polished = quality_of(image, s_.q_ahead).gap;
      if (polished < gap) {
        gap = polished;
        y = s_.q_ahead;
      }
    }
    const bool sharp = call_.mode == Mode::sharp;
    store_image(call_.y, images_, image, [&](std::int64_t i) {
      const T value = sharp ? mirror(s_.x[i], y[i]) : y[i];
      return offset_ == 0 ? value : value + offset_;
    });
    if (call_.gap == nullptr) return;
    if (offset_ != 0) {  // what the result loses by it belongs to the gap
      for (std::int64_t i = 0; i < s_.pixels; ++i) s_.q[i] = (y[i] + offset_) - offset_;
      gap = quality_of(image, s_.q).gap;
    }
    call_.gap[image] = gap / scale() / scale();
  }

  /// From 0, or from where the caller says, unless that is not finite.
  void start(std::int64_t image) noexcept {
    bool starts_at_0 = !call_.start.given;
    if (call_.start.given) {
      load_image(call_.start.image(images_, image), images_.height, images_.width, s_.q);
      starts_at_0 = !extent_of(s_.q).finite;
    }
    if (starts_at_0) std::fill_n(s_.q, s_.pixels, T(0));
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      s_.q_ahead[i] = s_.q[i];
      s_.input[i] = s_.x[i] - s_.q[i];
    }
  }

  /// It cannot fail: lams have been looked at, and the memory is there.
  void pass(const Lines& lines, const RowLam& lam, const T* in, T* out,
            std::uint32_t* partition) const noexcept {
    Forward1d call;
    call.rows = rows_of(lines);
    call.lam = lam;
    call.x = lines_array<const void>(in, kDType<T>, lines);
    call.y = lines_array<void>(out, kDType<T>, lines);
    call.partition = partition;
    static_cast<void>(forward1d(call, context_));
  }

  template <class Use>
  void for_each_pixel(const Use& use) const noexcept {
    for_each_part(s_.pixels, context_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) use(i);
    });
  }

  /// To the rows' next input, with the momentum of the accelerated method, which is returned.
  double go_on(double& t) noexcept {
    if (call_.solver.method == Method2d::dykstra) {
      for_each_pixel([&](std::int64_t i) {
        s_.q_ahead[i] = s_.input[i] - s_.y[i];
        s_.input[i] = s_.x[i] - s_.q_ahead[i];
      });
      return 0;
    }
    // Q takes the place of Y, which the columns make anew.
    const double scale = this->scale();
    for_each_part(s_.pixels, context_, [&](std::int64_t first, std::int64_t last) {
      s_.part_sums[first / kPixelsAPart] = sum_in_lanes(last - first, [&](std::int64_t k) {
        const std::int64_t i = first + k;
        s_.y[i] = s_.input[i] - s_.y[i];
        return (static_cast<double>(s_.q_ahead[i] - s_.y[i]) * scale) *
               (static_cast<double>(s_.y[i] - s_.q[i]) * scale);
      });
    });
    std::swap(s_.q, s_.y);
    const T* q = s_.q;
    const T* before = s_.y;
    const double leads_away = std::accumulate(s_.part_sums, s_.part_sums + s_.parts, 0.0);
    if (leads_away > 0) t = 1;
    const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    const auto momentum = static_cast<T>((t - 1) / next);
    t = next;
    for_each_pixel([&](std::int64_t i) {
      s_.q_ahead[i] = q[i] + momentum * (q[i] - before[i]);
      s_.input[i] = s_.x[i] - s_.q_ahead[i];
    });
    return static_cast<double>(momentum);
  }

  /// The values that the last passes' components have where they are those of the solution: all
  /// that a component's border holds goes to its pixels.
  void polish(std::int64_t image, T* out) noexcept {
    Components& components = s_.components;
    components.find(partition_of(image, 0, true), partition_of(image, 0, false));
    const auto first = [&](std::int64_t i) {
      return static_cast<double>(s_.x[components.first_of(i)]);
    };
    // Differences, so that no digit is lost however far from 0 they are.
    components.sum([&](std::int64_t i) { return static_cast<double>(s_.x[i]) - first(i); });
    const EdgeLams row_lam(call_.row_lam, images_, image);
    const EdgeLams column_lam(call_.column_lam, images_, image);
    components.add_jumps(true, [&](std::int32_t r, std::int32_t c) { return row_lam.at(r, c); });
    components.add_jumps(false,
                         [&](std::int32_t r, std::int32_t c) { return column_lam.at(r, c); });
    components.take_means();
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      out[i] = static_cast<T>(first(i) + components.mean(i));
    }
  }

  /// Of differences, such that their squares are numbers whatever the image is like.
  [[nodiscard]] double scale() const noexcept {
    if (sizeof(T) == sizeof(float) || largest_ == 0) return 1;
    return std::ldexp(1.0, -std::clamp(std::ilogb(largest_), -1000, 1000));
  }
  /// Times the square of scale().
  [[nodiscard]] Quality quality_of(std::int64_t image, const T* y) const noexcept {
    return s_.quality.of(y, {s_.x, s_.input, s_.y, largest_, scale()},
                         EdgeLams(call_.row_lam, images_, image),
                         EdgeLams(call_.column_lam, images_, image));
  }

  [[nodiscard]] Extent<T> extent_of(const T* values) const noexcept {
    Extent<T> all = {values[0], values[0], true};
    for (std::int32_t r = 0; r < images_.height; ++r) {
      Extent<T> row;
      chosen_cpu_target().kernels<T>().measure_rows(values + std::int64_t{r} * images_.width, 0, 1,
                                                    images_.width, &row);
      all = {std::min(all.low, row.low), std::max(all.high, row.high), all.finite && row.finite};
    }
    return all;
  }

  /// As 1D copies rows, bit for bit, and says of each line which way its samples go: so the
  /// derivatives of all iterations are those of one. The columns are copied for their codes alone.
  void copy(std::int64_t image) const noexcept {
    const ImageSpan<const void> x = call_.x.image(images_, image);
    const ImageSpan<void> y = call_.y.image(images_, image);
    Forward1d call;
    call.rows = rows_of(rows_);
    call.x = rows_array(x, images_);
    call.y = rows_array(y, images_);
    call.partition = partition_of(image, 0, true);
    static_cast<void>(forward1d(call, context_));
    if (call_.partitions != nullptr) {
      call.rows = rows_of(columns_);
      call.x = columns_array(x, images_);
      call.y = columns_array(y, images_);
      call.partition = partition_of(image, 0, false);
      static_cast<void>(forward1d(call, context_));
      const SavedPasses saved(images_);
      for (int k = 1; k < kept_iterations(); ++k) {
        std::copy_n(partition_of(image, 0, true), saved.row_words, partition_of(image, k, true));
        std::copy_n(partition_of(image, 0, false), saved.column_words,
                    partition_of(image, k, false));
      }
    }
    store_image(call_.dual, images_, image, [](std::int64_t) { return 0.0; });
    store_no_iterations(image, 0);
  }

  /// All of it NaN, and each line one segment.
  void store_nan(std::int64_t image) const noexcept {
    store_image(call_.y, images_, image, [](std::int64_t) { return kNan; });
    store_image(call_.dual, images_, image, [](std::int64_t) { return kNan; });
    const SavedPasses saved(images_);
    for (int k = 0; call_.partitions != nullptr && k < kept_iterations(); ++k) {
      store_one_segment(partition_of(image, k, true), saved.row_words, rows_);
      store_one_segment(partition_of(image, k, false), saved.column_words, columns_);
    }
    store_no_iterations(image, kNan);
  }
  static void store_one_segment(std::uint32_t* words, std::int64_t count,
                                const Lines& lines) noexcept {
    std::fill_n(words, count, 0U);
    for (std::int64_t first = 0; first < count; first += partition_words(lines.length)) {
      words[first] = static_cast<std::uint32_t>(Code::plain);
    }
  }
  void store_no_iterations(std::int64_t image, double gap) const noexcept {
    if (call_.momentum != nullptr) std::fill_n(momentum_of(image), call_.solver.iterations, 0.0);
    if (call_.gap != nullptr) call_.gap[image] = gap;
    if (call_.iterations != nullptr) call_.iterations[image] = 0;
  }

  const Forward2d& call_;
  const Images& images_;
  ImageScratch<T> s_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
  // Of the image:
  T offset_ = 0;
  double largest_ = 0;  // |x|, without the offset
};

/// Before anything is written.
Status check_lams(const Forward2d& call) noexcept {
  Status status = check_lam(call.row_lam.of_lines, call.row_lam.lines);
  status.argument = status.ok() ? "" : "row_lam";
  if (!status.ok()) return status;
  status = check_lam(call.column_lam.of_lines, call.column_lam.lines);
  status.argument = status.ok() ? "" : "column_lam";
  return status;
}

template <class T>
Status forward_in(const Forward2d& call, const Context& context) noexcept {
  const bool polished = polishes(call.solver);
  return ImageTasks(call.images, ImageScratch<T>::bytes(call.images, polished), context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageSolver<T>(call, ImageScratch<T>(scratch, call.images, polished), passes);
      });
}

/// Images without pixels are solved.
void store_empty(const Forward2d& call) noexcept {
  const std::int64_t count = call.images.count;
  if (call.momentum != nullptr) std::fill_n(call.momentum, count * call.solver.iterations, 0.0);
  if (call.gap != nullptr) std::fill_n(call.gap, count, 0.0);
  if (call.iterations != nullptr) std::fill_n(call.iterations, count, 0);
}

}  // namespace

std::size_t forward2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, ImageScratch<double>::bytes(images, true), context).bytes();
}

Status forward2d(const Forward2d& call, const Context& context) noexcept {
  if (const Status status = check_lams(call); !status.ok()) return status;
  if (call.images.count == 0 || call.images.height == 0 || call.images.width == 0) {
    store_empty(call);
    return {};
  }
  return call.x.dtype == DType::float64 ? forward_in<double>(call, context)
                                        : forward_in<float>(call, context);
}

}  // namespace tautline::detail
