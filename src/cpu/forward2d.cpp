// 2D forward on the CPU: the iterations of an image, what they save, and the result.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/image_components.h"
#include "cpu/image_iterations.h"
#include "cpu/image_stage.h"
#include "cpu/value_checks.h"
#include "step/segment.h"

namespace tautstring::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Scratch memory to polish one image, empty unless polishing is on.
struct PolishScratch {
  PolishScratch(Scratch& scratch, const Images& images, bool polishes) noexcept
      : components(scratch, polishes ? images : Images{}) {
    if (!polishes) return;
    row_codes = scratch.take<std::uint32_t>(SavedPasses(images).row_words);
    column_codes = scratch.take<std::uint32_t>(SavedPasses(images).column_words);
  }

  Components components;
  std::uint32_t* row_codes = nullptr;  // of the last passes, if the caller does not want them
  std::uint32_t* column_codes = nullptr;
};

template <class T>
std::size_t image_bytes(const Images& images, bool polishes, int tasks,
                        std::int64_t together) noexcept {
  Scratch scratch(nullptr);
  scratch.take<std::byte>(stage_bytes(images, together, sizeof(T)));
  scratch.take<std::byte>(stage_bytes(images, together, sizeof(T)));
  const IterationArrays<T> arrays(scratch, images, tasks);
  const PolishScratch polish(scratch, images, polishes);
  return scratch.used();
}

/// Whether the values of the components may replace the result: with implicit derivatives, for
/// images that have come near the solution, the components of the derivatives also determine the
/// values.
bool polishes(const Solver2d& solver) noexcept {
  return solver.derivative == Derivative2d::implicit && solver.tol > 0;
}

template <class T>
class ImageSolver {
 public:
  ImageSolver(const Forward2d& call, Scratch& scratch, const Context& context,
              std::int64_t together) noexcept
      : call_(call),
        images_(call.images),
        context_(context),
        x_(scratch, call.images, call.x, together, sizeof(T)),
        y_(scratch, call.images, call.y, together, sizeof(T)),
        iterations_(call.images, call.lam_rows, call.lam_cols,
                    IterationArrays<T>(scratch, call.images, concurrency(context)), context),
        s_(scratch, call.images, polishes(call.solver)) {}

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    first_ = first;
    x_.load(first, last);
    for (std::int64_t image = first; image < last && !is_interrupted(context_); ++image) {
      solve(image);
    }
    if (!is_interrupted(context_)) y_.store(first, last);
  }

 private:
  void solve(std::int64_t image) noexcept {
    const bool is_copied =
        EdgeLams(call_.lam_rows, images_, image).are_zero(images_.height, images_.width - 1) &&
        EdgeLams(call_.lam_cols, images_, image).are_zero(images_.height - 1, images_.width);
    if (is_copied) return copy(image);
    if (!iterations_.load(x_.image(image, first_), image)) return store_nan(image);
    iterations_.start(call_.start);
    double momentum = 0;
    Quality quality;
    int done = 0;
    for (bool stops = false; !stops;) {
      if (call_.momentum != nullptr) momentum_of(image)[done] = momentum;
      std::uint32_t* row_partition = partition_of(image, done, true);
      std::uint32_t* column_partition = partition_of(image, done, false);
      ++done;
      stops = done == call_.solver.iterations;
      const bool looks = call_.solver.tol > 0 && (stops || done % kIterationsBetweenLooks == 0);
      const bool steps = !looks && !stops && call_.solver.method == Method2d::dykstra;
      iterations_.iterate(row_partition, column_partition, steps);
      if (is_interrupted(context_)) return;
      if (looks || (stops && call_.wants_quality())) {
        quality = iterations_.quality_of(iterations_.arrays().y);
        stops = stops || is_within(quality, call_.solver.tol);
      }
      if (!stops) momentum = iterations_.go_on(call_.solver.method);
    }
    if (call_.iterations != nullptr) call_.iterations[image] = done;
    const IterationArrays<T>& a = iterations_.arrays();
    store_image(call_.dual, images_, image, [&](std::int64_t i) { return a.input[i] - a.y[i]; });
    finish(image, quality);
  }

  [[nodiscard]] double* momentum_of(std::int64_t image) const noexcept {
    return call_.momentum + image * call_.solver.iterations;
  }
  /// The number of iterations whose partitions are kept.
  [[nodiscard]] int kept_iterations() const noexcept {
    return call_.solver.derivative == Derivative2d::implicit ? 1 : call_.solver.iterations;
  }
  /// Where the partition of a pass is stored: with those of all passes, or over the previous one.
  [[nodiscard]] std::uint32_t* partition_of(std::int64_t image, int iteration,
                                            bool of_rows) const noexcept {
    if (call_.partitions == nullptr) return of_rows ? s_.row_codes : s_.column_codes;
    const SavedPasses saved(images_);
    const int kept = std::min(iteration, kept_iterations() - 1);
    return call_.partitions + (of_rows ? saved.rows(image, kept) : saved.columns(image, kept));
  }

  /// Computes the result from the last iteration, which has this quality.
  void finish(std::int64_t image, Quality quality) noexcept {
    const IterationArrays<T>& a = iterations_.arrays();
    const T* y = a.y;
    if (polishes(call_.solver)) {
      polish(image, a.q_ahead);
      const Quality polished = iterations_.quality_of(a.q_ahead);
      if (polished.gap < quality.gap) {
        quality = polished;
        y = a.q_ahead;
      }
    }
    const T offset = iterations_.offset();
    const bool sharp = call_.mode == Mode::sharp;
    chosen_cpu_target().kernels<T>().store_pixels({y_.image(image, first_), images_.height,
                                                   images_.width, y, images_.width,
                                                   sharp ? a.x : nullptr, offset});
    if (!call_.wants_quality()) return;
    const bool is_stored_as_computed = call_.y.dtype == kDType<T> && offset == 0 && !sharp;
    if (!is_stored_as_computed) quality = quality_of_stored(image);
    store(image, reported(quality, iterations_.scale(), held_to(call_.solver, call_.x.dtype)));
  }

  void store(std::int64_t image, const ReportedQuality& quality) const noexcept {
    if (call_.gap != nullptr) call_.gap[image] = quality.gap;
    if (call_.objective != nullptr) call_.objective[image] = quality.objective;
    if (call_.converged != nullptr) call_.converged[image] = quality.converged ? 1 : 0;
  }

  /// The quality of the smooth image that the result represents, including rounding to the dtype
  /// and by the offset.
  Quality quality_of_stored(std::int64_t image) noexcept {
    const IterationArrays<T>& a = iterations_.arrays();
    const ImageSpan<void> stored = y_.image(image, first_);
    load_image({stored.data, stored.dtype, stored.row_stride, stored.column_stride}, images_.height,
               images_.width, a.q);
    const T offset = iterations_.offset();
    const bool sharp = call_.mode == Mode::sharp;
    for (std::int64_t i = 0; i < a.pixels; ++i) {
      a.q[i] = mirror_back(a.q[i] - offset, a.x[i], sharp);
    }
    return iterations_.quality_of(a.q);
  }

  /// The values of the components of the last passes, if these are the components of the solution:
  /// the mean of a component, with the jumps at its border added.
  void polish(std::int64_t image, T* out) noexcept {
    const IterationArrays<T>& a = iterations_.arrays();
    Components& components = s_.components;
    components.find(partition_of(image, 0, true), partition_of(image, 0, false));
    const auto first = [&](std::int64_t i) {
      return static_cast<double>(a.x[components.first_of(i)]);
    };
    // Differences, so that no digits are lost, however far from 0 the samples are.
    components.sum([&](std::int64_t i) { return static_cast<double>(a.x[i]) - first(i); });
    const EdgeLams lam_rows(call_.lam_rows, images_, image);
    const EdgeLams lam_cols(call_.lam_cols, images_, image);
    components.add_jumps(true, [&](std::int32_t r, std::int32_t c) { return lam_rows.at(r, c); });
    components.add_jumps(false, [&](std::int32_t r, std::int32_t c) { return lam_cols.at(r, c); });
    components.take_means();
    for (std::int64_t i = 0; i < a.pixels; ++i) {
      out[i] = static_cast<T>(first(i) + components.mean(i));
    }
  }

  /// Copies the image as the 1D call copies rows: bit for bit, with the partition from the
  /// directions of its samples. So the derivatives of all iterations are those of one. The columns
  /// are copied only for their codes.
  void copy(std::int64_t image) const noexcept {
    const ImageSpan<const void> x = x_.image(image, first_);
    const ImageSpan<void> y = y_.image(image, first_);
    Forward1d call;
    call.rows = rows_of(iterations_.rows());
    call.x = rows_array(x, images_);
    call.y = rows_array(y, images_);
    call.partition = partition_of(image, 0, true);
    forward1d_checked(call, context_);
    if (call_.partitions != nullptr) {
      call.rows = rows_of(iterations_.columns());
      call.x = columns_array(x, images_);
      call.y = columns_array(y, images_);
      call.partition = partition_of(image, 0, false);
      forward1d_checked(call, context_);
      const SavedPasses saved(images_);
      for (int k = 1; k < kept_iterations(); ++k) {
        std::copy_n(partition_of(image, 0, true), saved.row_words, partition_of(image, k, true));
        std::copy_n(partition_of(image, 0, false), saved.column_words,
                    partition_of(image, k, false));
      }
    }
    store_image(call_.dual, images_, image, [](std::int64_t) { return 0.0; });
    store_no_iterations(image, {0, 0, true});
  }

  /// Stores NaN everywhere, and each line as one segment.
  void store_nan(std::int64_t image) const noexcept {
    store_image(y_.image(image, first_), images_.height, images_.width,
                [](std::int64_t) { return kNan; });
    store_image(call_.dual, images_, image, [](std::int64_t) { return kNan; });
    const SavedPasses saved(images_);
    for (int k = 0; call_.partitions != nullptr && k < kept_iterations(); ++k) {
      store_one_segment(partition_of(image, k, true), saved.row_words, iterations_.rows());
      store_one_segment(partition_of(image, k, false), saved.column_words, iterations_.columns());
    }
    store_no_iterations(image, {kNan, kNan, false});
  }
  static void store_one_segment(std::uint32_t* words, std::int64_t count,
                                const Lines& lines) noexcept {
    std::fill_n(words, count, 0U);
    for (std::int64_t first = 0; first < count; first += partition_words(lines.length)) {
      words[first] = static_cast<std::uint32_t>(Code::plain);
    }
  }
  void store_no_iterations(std::int64_t image, const ReportedQuality& quality) const noexcept {
    if (call_.momentum != nullptr) std::fill_n(momentum_of(image), call_.solver.iterations, 0.0);
    store(image, quality);
    if (call_.iterations != nullptr) call_.iterations[image] = 0;
  }

  const Forward2d& call_;
  const Images& images_;
  const Context context_;  // of the passes
  ImageStage<const void> x_;
  ImageStage<void> y_;
  std::int64_t first_ = 0;  // image of the group
  ImageIterations<T> iterations_;
  PolishScratch s_;
};

template <class T>
Status forward_in(const Forward2d& call, const Context& context) noexcept {
  const bool is_staged = is_interleaved(call.images, call.x) || is_interleaved(call.images, call.y);
  const std::int64_t together = is_staged ? images_together(call.images, concurrency(context)) : 1;
  const std::size_t bytes = image_bytes<T>(call.images, polishes(call.solver),
                                           pass_tasks(call.images, context), together);
  return ImageTasks(call.images, bytes, context, together)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageSolver<T>(call, scratch, passes, together);
      });
}

/// Images without pixels count as solved.
void store_empty(const Forward2d& call) noexcept {
  const std::int64_t count = call.images.count;
  if (call.momentum != nullptr) std::fill_n(call.momentum, count * call.solver.iterations, 0.0);
  if (call.gap != nullptr) std::fill_n(call.gap, count, 0.0);
  if (call.objective != nullptr) std::fill_n(call.objective, count, 0.0);
  if (call.converged != nullptr) std::fill_n(call.converged, count, std::uint8_t{1});
  if (call.iterations != nullptr) std::fill_n(call.iterations, count, 0);
}

}  // namespace

std::size_t forward2d_workspace(const Images& images, const Context& context) noexcept {
  const std::int64_t together = images_together(images, concurrency(context));
  const int tasks = pass_tasks(images, context);
  // float32 has more lanes, and so more of some arrays.
  const std::size_t bytes = std::max(image_bytes<float>(images, true, tasks, together),
                                     image_bytes<double>(images, true, tasks, together));
  return ImageTasks(images, bytes, context, together).bytes();
}

Status forward2d(const Forward2d& call, const Context& context) noexcept {
  if (const Status status = check_lams(call.lam_rows, call.lam_cols); !status.ok()) return status;
  if (call.images.count == 0 || call.images.height == 0 || call.images.width == 0) {
    store_empty(call);
    return {};
  }
  return call.x.dtype == DType::float64 ? forward_in<double>(call, context)
                                        : forward_in<float>(call, context);
}

}  // namespace tautstring::detail
