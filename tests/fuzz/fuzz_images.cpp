// Fuzzes the 2D solver on small images of every dtype and memory layout. On grids the exact optimum
// is known: a reported gap, after any number of iterations, is never less than the distance of the
// result's objective from the optimum. On images of arbitrary bits, a gap is never negative and is
// NaN only if a sample is not finite. The bits are those of the same images contiguous in memory,
// and nothing is written between the pixels.
#include <fuzzer/FuzzedDataProvider.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/tv2d_iterations.h"
#include "reference/tv2d_reference.h"
#include "step/small_float.h"
#include "support/require.h"

namespace {

using tautstring::DType;
using tautstring::fuzz::require;
namespace detail = tautstring::detail;
namespace reference = tautstring::reference;

/// Samples and lams are multiples of 1/kGrid, which every dtype represents exactly.
constexpr double kGrid = 16;
constexpr std::int64_t kUnbounded = 1
                                    << 16;  // in units of the grid: acts like an infinite lam here

enum class Samples : std::uint8_t { grid, any_bits, kMaxValue = any_bits };

struct Shape {
  std::int64_t count, height, width;
  [[nodiscard]] std::int64_t pixels() const { return height * width; }
};

/// The memory layout of a batch: contiguous, transposed, with gaps, reversed.
enum class Layout : std::uint8_t { plain, turned, spread, backwards, kMaxValue = backwards };

/// A batch of images in its own memory.
class Images {
 public:
  Images(const Shape& shape, DType dtype, Layout layout) : shape_(shape), dtype_(dtype) {
    const auto [count, height, width] = shape;
    switch (layout) {
      case Layout::plain: strides_ = {height * width, width, 1}; break;
      case Layout::turned: strides_ = {1, count, count * height}; break;
      case Layout::spread: strides_ = {height * (2 * width + 1), 2 * width + 1, 2}; break;
      case Layout::backwards: strides_ = {-height * width, -width, -1}; break;
    }
    if (layout == Layout::backwards) first_ = std::max<std::int64_t>(count * height * width - 1, 0);
    const std::int64_t room = count * height * (2 * width + 1) + 1;
    bytes_.assign(static_cast<std::size_t>(room * tautstring::size_of(dtype)), kUntouched);
  }

  [[nodiscard]] tautstring::View view() {
    return tautstring::view(static_cast<void*>(at(first_)), dtype_,
                            {shape_.count, shape_.height, shape_.width}, strides_);
  }

  /// The bytes of pixel `i` of the batch, in logical order.
  [[nodiscard]] std::byte* pixel(std::int64_t i) {
    const std::int64_t image = i / shape_.pixels();
    const std::int64_t row = i % shape_.pixels() / shape_.width;
    const std::int64_t column = i % shape_.width;
    return at(first_ + image * strides_[0] + row * strides_[1] + column * strides_[2]);
  }

  [[nodiscard]] double value(std::int64_t i) {
    return tautstring::value_at(tautstring::view(static_cast<const void*>(pixel(i)), dtype_, {}),
                                0);
  }

  [[nodiscard]] std::int64_t size() const { return shape_.count * shape_.pixels(); }
  [[nodiscard]] std::size_t pixel_size() const {
    return static_cast<std::size_t>(tautstring::size_of(dtype_));
  }

  /// Whether all bytes that are not pixels are unchanged.
  [[nodiscard]] bool is_clean_between() const {
    Images untouched = *this;
    for (std::int64_t i = 0; i < size(); ++i) {
      std::fill_n(untouched.pixel(i), pixel_size(), kUntouched);
    }
    const auto is_untouched = [](std::byte byte) { return byte == kUntouched; };
    return std::all_of(untouched.bytes_.begin(), untouched.bytes_.end(), is_untouched);
  }

 private:
  static constexpr std::byte kUntouched{0xA5};

  std::byte* at(std::int64_t element) {
    return bytes_.data() + element * tautstring::size_of(dtype_);
  }

  Shape shape_;
  DType dtype_;
  std::int64_t first_ = 0;
  std::vector<std::int64_t> strides_;
  std::vector<std::byte> bytes_;
};

void store(double value, DType dtype, std::byte* place) {
  const auto put = [&](auto stored) { std::memcpy(place, &stored, sizeof(stored)); };
  switch (dtype) {
    case DType::float16: return put(detail::Float16(value));
    case DType::bfloat16: return put(detail::BFloat16(value));
    case DType::float32: return put(static_cast<float>(value));
    case DType::float64: return put(value);
  }
}

/// The images of a call and their lams, one per edge, as numbers.
struct Problem {
  explicit Problem(FuzzedDataProvider& data)
      : samples(data.ConsumeEnum<Samples>()),
        dtype(static_cast<DType>(data.ConsumeIntegralInRange(0, 3))),
        layout(data.ConsumeEnum<Layout>()),
        shape{data.ConsumeIntegralInRange<std::int64_t>(0, 3),
              data.ConsumeIntegralInRange<std::int64_t>(0, 8),
              data.ConsumeIntegralInRange<std::int64_t>(0, 8)},
        x(shape, dtype, layout) {
    const bool per_edge = data.ConsumeBool();
    fill_lams(data, per_edge, shape.height * (shape.width - 1), lam_rows);
    fill_lams(data, per_edge, (shape.height - 1) * shape.width, lam_cols);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (samples == Samples::grid) {
        store(data.ConsumeIntegralInRange(-64, 64) / kGrid, dtype, x.pixel(i));
      } else {
        const auto bits = data.ConsumeIntegral<std::uint64_t>();
        std::memcpy(x.pixel(i), &bits, x.pixel_size());
      }
    }
  }

  /// The lams are the same for all images.
  [[nodiscard]] tautstring::Problem2d of(Images& images) const {
    const auto lams = [](const std::vector<double>& values, std::int64_t rows, std::int64_t width) {
      return tautstring::view(values.data(), {rows, width});
    };
    tautstring::Problem2d problem = {.x = images.view()};
    if (shape.width > 0) problem.lam_rows = lams(lam_rows, shape.height, shape.width - 1);
    if (shape.height > 0) problem.lam_cols = lams(lam_cols, shape.height - 1, shape.width);
    return problem;
  }

  [[nodiscard]] bool is_lam_valid() const {
    const auto is_nan = [](double lam) { return std::isnan(lam); };
    return std::none_of(lam_rows.begin(), lam_rows.end(), is_nan) &&
           std::none_of(lam_cols.begin(), lam_cols.end(), is_nan);
  }

  Samples samples;
  DType dtype;
  Layout layout;
  Shape shape;
  Images x;
  std::vector<double> lam_rows, lam_cols;

 private:
  void fill_lams(FuzzedDataProvider& data, bool per_edge, std::int64_t count,
                 std::vector<double>& lams) const {
    for (std::int64_t i = 0; i < count; ++i) {
      lams.push_back(i > 0 && !per_edge ? lams[0] : lam(data));
    }
  }
  [[nodiscard]] double lam(FuzzedDataProvider& data) const {
    if (samples == Samples::any_bits) return std::abs(data.ConsumeFloatingPoint<double>());
    const int choice = data.ConsumeIntegralInRange(-1, 40);
    return choice < 0 ? std::numeric_limits<double>::infinity() : choice / kGrid;
  }
};

tautstring::Solver2d settings(FuzzedDataProvider& data) {
  constexpr double kTols[] = {0, 1e-8, 1e-3};
  return {.method = data.ConsumeBool() ? tautstring::Method2d::accelerated
                                       : tautstring::Method2d::dykstra,
          .iterations = data.ConsumeIntegralInRange(1, 24),
          .tol = data.PickValueInArray(kTols),
          .derivative = data.ConsumeBool() ? tautstring::Derivative2d::implicit
                                           : tautstring::Derivative2d::unrolled};
}

/// A call with its reports.
struct Call {
  Call(const tautstring::Problem2d& problem, const Shape& shape, DType dtype, Layout layout,
       const tautstring::Solver2d& solver)
      : y(shape, dtype, layout),
        dual(shape, dtype, layout),
        gap(static_cast<std::size_t>(shape.count), -1),
        iterations(static_cast<std::size_t>(shape.count), -1) {
    status = tautstring::prox_tv2d(
        problem, solver,
        {.y = y.view(), .dual = dual.view(), .gap = gap, .iterations = iterations});
  }

  Images y, dual;
  std::vector<double> gap;
  std::vector<std::int32_t> iterations;
  tautstring::Status status;
};

/// One image of a problem on the grid, and its exact optimum.
class Exact {
 public:
  Exact(Problem& problem, std::int64_t image) : first_(image * problem.shape.pixels()) {
    reference::IntegerProblem2d integers = {.height = problem.shape.height,
                                            .width = problem.shape.width};
    problem_ = {.height = static_cast<std::int32_t>(problem.shape.height),
                .width = static_cast<std::int32_t>(problem.shape.width)};
    const auto add = [](double value, std::vector<std::int64_t>& whole,
                        std::vector<double>& parts) {
      whole.push_back(std::isinf(value) ? kUnbounded : std::llround(value * kGrid));
      parts.push_back(static_cast<double>(whole.back()) / kGrid);
    };
    for (const double value : pixels_of(problem.x)) add(value, integers.x, problem_.x);
    for (const double lam : problem.lam_rows) add(lam, integers.lam_rows, problem_.lam_rows);
    for (const double lam : problem.lam_cols) add(lam, integers.lam_cols, problem_.lam_cols);
    std::vector<double> y = reference::prox_tv2d(integers).y;
    for (double& value : y) value /= kGrid;
    optimum_ = reference::objective(problem_, y);
  }

  /// A lower bound on how far the objective of an image is above the optimum, despite rounding.
  [[nodiscard]] double excess(Images& y) const {
    return reference::objective(problem_, pixels_of(y)) - (1 + 1e-13) * optimum_;
  }

  /// The most that rounding the result to a 16-bit dtype can have added to its objective.
  [[nodiscard]] double rounding(Images& y, DType dtype) const {
    if (dtype == DType::float32 || dtype == DType::float64) return 0;
    const double unit = dtype == DType::float16 ? 0x1p-11 : 0x1p-8;
    std::vector<double> errors = pixels_of(y);
    double sum = 0;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const double change = std::abs(errors[i] - problem_.x[i]);
      errors[i] = unit * std::abs(errors[i]);
      sum += change * errors[i] + errors[i] * errors[i];
    }
    return sum + 2 * (sum_of(problem_.lam_rows) + sum_of(problem_.lam_cols)) *
                     *std::max_element(errors.begin(), errors.end());
  }

 private:
  static double sum_of(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  }
  [[nodiscard]] std::vector<double> pixels_of(Images& images) const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < problem_.height * problem_.width; ++i) {
      result.push_back(images.value(first_ + i));
    }
    return result;
  }

  std::int64_t first_;
  reference::Problem2d problem_;
  double optimum_ = 0;
};

bool is_finite(Images& images, std::int64_t image, const Shape& shape) {
  for (std::int64_t i = 0; i < shape.pixels(); ++i) {
    if (!std::isfinite(images.value(image * shape.pixels() + i))) return false;
  }
  return true;
}

/// Reports of NaN images are NaN; all others are numbers in their ranges.
void check_reports(Problem& problem, const tautstring::Solver2d& solver, const Call& call) {
  for (std::int64_t image = 0; image < problem.shape.count; ++image) {
    const auto i = static_cast<std::size_t>(image);
    require(call.iterations[i] >= 0 && call.iterations[i] <= solver.iterations);
    require(call.gap[i] >= 0 || !is_finite(problem.x, image, problem.shape));
  }
}

/// Gaps, also those of gap2d, are bounds.
void check_gaps(Problem& problem, Call& call) {
  if (problem.shape.pixels() == 0) return;
  std::vector<double> gap(call.gap.size()), gap_by_dual(call.gap.size());
  const tautstring::Problem2d views = problem.of(problem.x);
  require(tautstring::gap2d(views, {.y = call.y.view()}, gap).ok());
  require(
      tautstring::gap2d(views, {.y = call.y.view(), .dual = call.dual.view()}, gap_by_dual).ok());
  for (std::int64_t image = 0; image < problem.shape.count; ++image) {
    const Exact exact(problem, image);
    const auto i = static_cast<std::size_t>(image);
    const double excess = exact.excess(call.y);
    require(gap[i] >= excess);
    require(gap_by_dual[i] >= excess);
    require(call.gap[i] >= excess - exact.rounding(call.y, problem.dtype));
  }
}

/// The bits are those of the same images contiguous in memory.
void check_layout(Problem& problem, const tautstring::Solver2d& solver, Call& call) {
  require(call.y.is_clean_between() && call.dual.is_clean_between());
  Images plain(problem.shape, problem.dtype, Layout::plain);
  for (std::int64_t i = 0; i < plain.size(); ++i) {
    std::memcpy(plain.pixel(i), problem.x.pixel(i), plain.pixel_size());
  }
  Call same(problem.of(plain), problem.shape, problem.dtype, Layout::plain, solver);
  require(same.status.ok());
  require(same.iterations == call.iterations);
  for (std::size_t i = 0; i < same.gap.size(); ++i) {
    require(std::bit_cast<std::uint64_t>(same.gap[i]) == std::bit_cast<std::uint64_t>(call.gap[i]));
  }
  for (std::int64_t i = 0; i < plain.size(); ++i) {
    require(std::memcmp(same.y.pixel(i), call.y.pixel(i), plain.pixel_size()) == 0);
    require(std::memcmp(same.dual.pixel(i), call.dual.pixel(i), plain.pixel_size()) == 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const tautstring::Solver2d solver = settings(data);
  Problem problem(data);
  Call call(problem.of(problem.x), problem.shape, problem.dtype, problem.layout, solver);
  require(call.status.ok() == problem.is_lam_valid());
  if (!call.status.ok()) return 0;
  check_reports(problem, solver, call);
  if (problem.samples == Samples::grid) check_gaps(problem, call);
  check_layout(problem, solver, call);
  return 0;
}
