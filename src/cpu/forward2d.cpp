// 2D forward on the CPU: passes of exact 1D solves over an image's rows and columns.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/image_tasks.h"
#include "cpu/value_checks.h"
#include "step/row/row_io.h"

namespace tautline::detail {
namespace {

/// Memory of one image, in the arithmetic of its type, row by row.
template <class T>
struct ImageScratch {
  ImageScratch(Scratch& scratch, const Images& images) noexcept
      : pixels(std::int64_t{images.height} * images.width),
        x(scratch.take<T>(pixels)),
        row_input(scratch.take<T>(pixels)),
        column_input(scratch.take<T>(pixels)),
        row_solution(scratch.take<T>(pixels)),
        y(scratch.take<T>(pixels)),
        q(scratch.take<T>(pixels)) {}

  static std::size_t bytes(const Images& images) noexcept {
    Scratch scratch(nullptr);
    ImageScratch(scratch, images);
    return scratch.used();
  }

  std::int64_t pixels;
  T* x;
  T* row_input;     // X - Qb
  T* column_input;  // X - P
  T* row_solution;
  T* y;
  T* q;  // of the iteration before
};

/// Those of the lines of one image.
RowLam row_lam_of(const Forward2d& call, std::int64_t image) noexcept {
  RowLam lam = {call.row_lam.number, {}};
  if (!call.row_lam.array.given) return lam;
  const ImageSpan<const void> span = call.row_lam.array.image(call.images, image);
  lam.array = {span.data, span.dtype, true, call.row_lam.array.width, span.column_stride, {}};
  lam.array.batch_strides[0] = span.row_stride;
  return lam;
}
RowLam column_lam_of(const Forward2d& call, std::int64_t image) noexcept {
  RowLam lam = {call.column_lam.number, {}};
  if (!call.column_lam.array.given) return lam;
  const ImageSpan<const void> span = call.column_lam.array.image(call.images, image);
  lam.array = {span.data, span.dtype, true, call.column_lam.array.height, span.row_stride, {}};
  lam.array.batch_strides[0] = span.column_stride;
  return lam;
}

template <class T>
class ImageSolver {
 public:
  ImageSolver(const Forward2d& call, const ImageScratch<T>& scratch,
              const Context& context) noexcept
      : call_(call),
        s_(scratch),
        context_(context),
        rows_(row_lines(call.images)),
        columns_(column_lines(call.images)) {}

  void operator()(std::int64_t image) noexcept {
    const ImageSpan<const void> x = call_.x.image(call_.images, image);
    const RowLam row_lam = row_lam_of(call_, image);
    const RowLam column_lam = column_lam_of(call_, image);
    if (!load(x)) return store_nan(image);
    std::copy_n(s_.x, s_.pixels, s_.row_input);  // Q is 0
    std::fill_n(s_.q, s_.pixels, T(0));
    double t = 1;
    double momentum = 0;
    double gap = std::numeric_limits<double>::quiet_NaN();
    int done = 0;
    for (bool stops = false; !stops;) {
      if (call_.momentum != nullptr) momentum_of(image)[done] = momentum;
      pass(rows_, row_lam, s_.row_input, s_.row_solution, partition_of(image, done, true));
      for (std::int64_t i = 0; i < s_.pixels; ++i) {
        s_.column_input[i] = s_.x[i] - (s_.row_input[i] - s_.row_solution[i]);
      }
      pass(columns_, column_lam, s_.column_input, s_.y, partition_of(image, done, false));
      ++done;
      const bool is_last = done == call_.solver.iterations;
      const bool looks = call_.solver.tol > 0 && (done % kIterationsBetweenLooks == 0 || is_last);
      if (looks || (is_last && call_.gap != nullptr)) gap = duality_gap(row_lam);
      stops = is_last || (looks && gap <= call_.solver.tol * objective(row_lam, column_lam));
      if (!stops) momentum = next_row_input(t);
    }
    if (call_.gap != nullptr) call_.gap[image] = gap;
    if (call_.iterations != nullptr) call_.iterations[image] = done;
    store(call_.y.image(call_.images, image));
  }

 private:
  static constexpr int kIterationsBetweenLooks = 4;

  [[nodiscard]] double* momentum_of(std::int64_t image) const noexcept {
    return call_.momentum + image * call_.solver.iterations;
  }
  /// Where a pass's partition goes: with those of all passes, or over that of the pass before.
  [[nodiscard]] std::uint32_t* partition_of(std::int64_t image, int iteration,
                                            bool of_rows) const noexcept {
    if (call_.partitions == nullptr) return nullptr;
    const SavedPasses saved(call_.images);
    const int kept = call_.solver.derivative == Derivative2d::of_solution ? 0 : iteration;
    return call_.partitions + (of_rows ? saved.rows(image, kept) : saved.columns(image, kept));
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

  /// X - Qb, with the momentum of the accelerated method, which is returned.
  double next_row_input(double& t) noexcept {
    if (call_.solver.method == Method2d::dykstra) {
      for (std::int64_t i = 0; i < s_.pixels; ++i) {
        s_.row_input[i] = s_.x[i] - (s_.column_input[i] - s_.y[i]);
      }
      return 0;
    }
    double leads_away = 0;
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      const T q = s_.column_input[i] - s_.y[i];
      const T ahead = s_.x[i] - s_.row_input[i];
      leads_away += static_cast<double>(ahead - q) * static_cast<double>(q - s_.q[i]);
    }
    if (leads_away > 0) t = 1;
    const double next = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    const auto momentum = static_cast<T>((t - 1) / next);
    t = next;
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      const T q = s_.column_input[i] - s_.y[i];
      s_.row_input[i] = s_.x[i] - (q + momentum * (q - s_.q[i]));
      s_.q[i] = q;
    }
    return static_cast<double>(momentum);
  }

  /// lam of the edge behind element e of a line.
  [[nodiscard]] static double lam_at(const RowLam& lam, const Rows& rows, std::int64_t line,
                                     std::int32_t e) noexcept {
    if (!lam.array.given) return lam.number;
    return load_element(lam.array.row(rows, line), lam.array.size > 1 ? e : 0);
  }

  /// Behind a pass over the columns only the rows have a gap. Their dual variable is kept within
  /// its bounds, and at them where it is but for rounding; what that changes is paid for.
  [[nodiscard]] double duality_gap(const RowLam& lam) const noexcept {
    const Rows rows = rows_of(rows_);
    double largest = 0;
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(s_.x[i])));
    }
    double gap = 0;
    for (std::int32_t r = 0; r < rows_.count; ++r) {
      const std::int64_t first = r * rows_.apart;
      double u = 0;       // of the pass
      double before = 0;  // as it is counted
      for (std::int32_t k = 0; k < rows_.length; ++k) {
        const std::int64_t i = first + k;
        const double p = static_cast<double>(s_.x[i]) - static_cast<double>(s_.column_input[i]);
        u -= p;
        double counted = 0;
        if (k + 1 < rows_.length) {
          const double bound = lam_at(lam, rows, r, k);
          const double near = kSnap * std::max(bound, largest);
          counted = std::clamp(u, -bound, bound);
          if (bound - counted <= near) counted = bound;
          if (counted + bound <= near) counted = -bound;
          const double rise = static_cast<double>(s_.y[i + 1]) - static_cast<double>(s_.y[i]);
          if (rise != 0) gap += bound * std::abs(rise) - counted * rise;
        }
        const double residual = (before - counted) - p;
        gap += residual * residual / 2;
        before = counted;
      }
    }
    return gap;
  }

  [[nodiscard]] double objective(const RowLam& row_lam, const RowLam& column_lam) const noexcept {
    double sum = 0;
    for (std::int64_t i = 0; i < s_.pixels; ++i) {
      const double change = static_cast<double>(s_.x[i]) - static_cast<double>(s_.y[i]);
      sum += change * change / 2;
    }
    return sum + penalty(rows_, row_lam) + penalty(columns_, column_lam);
  }
  [[nodiscard]] double penalty(const Lines& lines, const RowLam& lam) const noexcept {
    const Rows rows = rows_of(lines);
    double sum = 0;
    for (std::int32_t line = 0; line < lines.count; ++line) {
      const T* values = s_.y + line * lines.apart;
      for (std::int32_t k = 0; k + 1 < lines.length; ++k) {
        const double rise = static_cast<double>(values[(k + 1) * lines.stride]) -
                            static_cast<double>(values[k * lines.stride]);
        if (rise != 0) sum += lam_at(lam, rows, line, k) * std::abs(rise);
      }
    }
    return sum;
  }

  /// Whether all samples are finite.
  bool load(const ImageSpan<const void>& from) noexcept {
    bool finite = true;
    with_storage(from.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      const auto* data = static_cast<const Storage*>(from.data);
      for_each_pixel([&](std::int64_t i, std::int32_t r, std::int32_t c) {
        const T value = from_storage<T>(data[r * from.row_stride + c * from.column_stride]);
        s_.x[i] = value;
        finite = finite && value - value == 0;
      });
    });
    return finite;
  }
  void store(const ImageSpan<void>& to) noexcept {
    with_storage(to.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      auto* data = static_cast<Storage*>(to.data);
      const bool sharp = call_.mode == Mode::sharp;
      for_each_pixel([&](std::int64_t i, std::int32_t r, std::int32_t c) {
        const T value = sharp ? s_.x[i] + (s_.x[i] - s_.y[i]) : s_.y[i];
        data[r * to.row_stride + c * to.column_stride] = to_storage<Storage>(value);
      });
    });
  }
  void store_nan(std::int64_t image) noexcept {
    std::fill_n(s_.x, s_.pixels, std::numeric_limits<T>::quiet_NaN());
    std::copy_n(s_.x, s_.pixels, s_.y);
    if (call_.gap != nullptr) call_.gap[image] = std::numeric_limits<double>::quiet_NaN();
    if (call_.iterations != nullptr) call_.iterations[image] = 0;
    store(call_.y.image(call_.images, image));
  }
  template <class Use>
  void for_each_pixel(const Use& use) const noexcept {
    std::int64_t i = 0;
    for (std::int32_t r = 0; r < call_.images.height; ++r) {
      for (std::int32_t c = 0; c < call_.images.width; ++c) use(i++, r, c);
    }
  }

  /// A dual variable so near its bound, by the size of what it was summed up from, is at it.
  static constexpr double kSnap = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;

  const Forward2d& call_;
  const ImageScratch<T> s_;
  const Context context_;  // of the passes
  const Lines rows_;
  const Lines columns_;
};

/// Before anything is written.
Status check_lams(const Forward2d& call) noexcept {
  const Rows rows = rows_of(row_lines(call.images));
  const Rows columns = rows_of(column_lines(call.images));
  for (std::int64_t image = 0; image < call.images.count; ++image) {
    if (Status status = check_lam(row_lam_of(call, image), rows); !status.ok()) {
      status.argument = "row_lam";
      return status;
    }
    if (Status status = check_lam(column_lam_of(call, image), columns); !status.ok()) {
      status.argument = "column_lam";
      return status;
    }
    if (!call.row_lam.array.given && !call.column_lam.array.given) break;
  }
  return {};
}

template <class T>
Status forward_in(const Forward2d& call, const Context& context) noexcept {
  return ImageTasks(call.images, ImageScratch<T>::bytes(call.images), context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageSolver<T>(call, ImageScratch<T>(scratch, call.images), passes);
      });
}

}  // namespace

std::size_t forward2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, ImageScratch<double>::bytes(images), context).bytes();
}

Status forward2d(const Forward2d& call, const Context& context) noexcept {
  if (const Status status = check_lams(call); !status.ok()) return status;
  if (call.images.count == 0 || call.images.height == 0 || call.images.width == 0) return {};
  return call.x.dtype == DType::float64 ? forward_in<double>(call, context)
                                        : forward_in<float>(call, context);
}

}  // namespace tautline::detail
