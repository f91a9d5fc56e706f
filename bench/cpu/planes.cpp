#include "planes.h"

#include <tautstring/tautstring.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "measure.h"
#include "problem.h"
#include "reference.h"
#include "short_number.h"
#include "storage.h"

namespace bench {

/// As compilers for processors have it; nvcc, which reads storage.h too, does not.
template <>
struct Storage<_Float16> {
  static constexpr const char* kName = "fp16";
  static constexpr auto kDType = tautstring::DType::float16;
  static constexpr double kUnitInLastPlace = 0x1p-10;
};

namespace {

constexpr int kIterations = 4;
constexpr int kPasses = 2 * kIterations;
constexpr double kLams[] = {0.05, 1};

/// Batches of square channels: as many as fit into an image, each in four orientations.
struct PlaneCase {
  const GreyImage* image = nullptr;
  std::int64_t side = 0;
  double lam = 0;

  [[nodiscard]] std::int64_t blocks() const { return kImageSide / side; }
  [[nodiscard]] std::int64_t channels() const { return 4 * blocks(); }
  [[nodiscard]] std::int64_t batch() const { return blocks(); }
  [[nodiscard]] std::size_t elements() const {
    return static_cast<std::size_t>(batch() * channels() * side * side);
  }
  [[nodiscard]] std::string name() const {
    std::string text = "planes/" + image->family + "/" + std::to_string(batch() * channels());
    for (int i = 0; i < 2; ++i) text.append("x").append(std::to_string(side));
    return text + "/lam:" + short_number(lam);
  }
  /// Of pixel (r, c) of a channel of a sample.
  [[nodiscard]] float value(std::int64_t sample, std::int64_t channel, std::int64_t r,
                            std::int64_t c) const {
    if ((channel & 1) != 0) r = side - 1 - r;
    if ((channel & 2) != 0) std::swap(r, c);
    const std::int64_t row = sample * side + r;
    return image->pixels[static_cast<std::size_t>(row * kImageSide + channel / 4 * side + c)];
  }
};

enum class Layout : std::uint8_t { contiguous, channels_last };

template <class T>
class Planes {
 public:
  Planes(const PlaneCase& c, Layout layout) : case_(c), layout_(layout) {}

  template <class Data>
  [[nodiscard]] auto view(Data* data) const {
    auto all = view_of(data, {case_.batch(), case_.channels(), case_.side, case_.side});
    if (layout_ == Layout::channels_last) {
      all.strides[1] = 1;
      all.strides[2] = case_.channels() * case_.side;
      all.strides[3] = case_.channels();
    }
    return all;
  }
  [[nodiscard]] std::vector<T> samples() const {
    std::vector<T> values(case_.elements());
    const auto places = view(values.data());
    for_each([&](std::int64_t sample, std::int64_t channel, std::int64_t r, std::int64_t c) {
      const std::int64_t at = sample * places.strides[0] + channel * places.strides[1] +
                              r * places.strides[2] + c * places.strides[3];
      values[static_cast<std::size_t>(at)] = static_cast<T>(case_.value(sample, channel, r, c));
    });
    return values;
  }

 private:
  template <class Use>
  void for_each(const Use& use) const {
    for (std::int64_t sample = 0; sample < case_.batch(); ++sample) {
      for (std::int64_t channel = 0; channel < case_.channels(); ++channel) {
        for (std::int64_t r = 0; r < case_.side; ++r) {
          for (std::int64_t c = 0; c < case_.side; ++c) use(sample, channel, r, c);
        }
      }
    }
  }

  PlaneCase case_;
  Layout layout_;
};

/// The calls of a case, with memory that is kept from call to call.
template <class T>
class PlaneCalls {
  // Of lambdas as layers have them: not in 16 bits.
  using LamGradient = std::conditional_t<sizeof(T) == 2, float, T>;

 public:
  PlaneCalls(const PlaneCase& c, Layout layout)
      : planes_(c, layout),
        x_(planes_.samples()),
        y_(x_.size()),
        grad_x_(x_.size()),
        row_gradients_(static_cast<std::size_t>(c.batch() * c.channels() * c.side)),
        column_gradients_(row_gradients_.size()),
        problem_{.x = planes_.view(std::as_const(x_).data()), .lam_rows = c.lam, .lam_cols = c.lam},
        grad_rows_(view_of(row_gradients_.data(), {c.batch(), c.channels(), c.side, 1})),
        grad_cols_(view_of(column_gradients_.data(), {c.batch(), c.channels(), 1, c.side})),
        saved_(static_cast<std::size_t>(tautstring::saved_words2d(problem_.x, kIterations))),
        row_saved_(static_cast<std::size_t>(c.batch() * c.channels() * c.side *
                                            tautstring::partition_words(c.side))) {
    std::size_t bytes = 0;
    std::size_t row_bytes = 0;
    if (!tautstring::prox_tv2d_workspace(problem_, context_, bytes).ok()) return;
    const auto y = planes_.view(y_.data());
    if (!tautstring::prox_tv1d_workspace(y, false, -1, context_, row_bytes).ok()) return;
    workspace_ = std::make_unique<KeptWorkspace>(std::max(bytes, row_bytes), context_);
  }

  [[nodiscard]] bool forward() {
    return tautstring::prox_tv2d(problem_, {.iterations = kIterations},
                                 {.y = planes_.view(y_.data()), .partitions = saved_}, context_)
        .ok();
  }
  /// After forward().
  [[nodiscard]] bool backward() {
    return tautstring::prox_tv2d_backward(
               {.partitions = saved_, .iterations = kIterations},
               planes_.view(std::as_const(x_).data()),
               {.x = planes_.view(grad_x_.data()), .lam_rows = grad_rows_, .lam_cols = grad_cols_},
               context_)
        .ok();
  }
  [[nodiscard]] bool rows() {
    return tautstring::prox_tv1d({.x = problem_.x, .lam = problem_.lam_rows},
                                 planes_.view(y_.data()), row_saved_, context_)
        .ok();
  }
  [[nodiscard]] std::vector<double> x() const { return widened(std::span<const T>(x_)); }
  [[nodiscard]] std::vector<double> y() const { return widened(std::span<const T>(y_)); }
  [[nodiscard]] std::vector<double> grad_x() const { return widened(std::span<const T>(grad_x_)); }

 private:
  Planes<T> planes_;
  std::vector<T> x_;
  std::vector<T> y_;
  std::vector<T> grad_x_;
  std::vector<LamGradient> row_gradients_;
  std::vector<LamGradient> column_gradients_;
  tautstring::Problem2d problem_;
  tautstring::View grad_rows_;
  tautstring::View grad_cols_;
  std::vector<std::uint32_t> saved_;
  std::vector<std::uint32_t> row_saved_;
  tautstring::Context context_;
  std::unique_ptr<KeptWorkspace> workspace_;
};

enum class Call : std::uint8_t { rows, forward, backward };

constexpr const char* kCallNames[] = {"rows", "forward", "backward"};

template <class T>
bool run(PlaneCalls<T>& calls, Call call) {
  switch (call) {
    case Call::rows: return calls.rows();
    case Call::forward: return calls.forward();
    case Call::backward: return calls.backward();
  }
  return false;
}

/// How a result differs from the one in float64; empty if it is right. Partitions of float32
/// iterates may differ at ties, so the gradients of a few pixels may, too: only their share counts.
template <class T>
std::string difference_from_float64(const PlaneCase& c, Layout layout, Call call) {
  PlaneCalls<T> ours(c, layout);
  PlaneCalls<double> exact(c, layout);
  if (call == Call::backward && (!ours.forward() || !exact.forward())) return "prox_tv2d failed";
  if (!run(ours, call) || !run(exact, call)) return std::string(kCallNames[int(call)]) + " failed";
  if (call == Call::backward) {
    const std::vector<double> a = ours.grad_x();
    const std::vector<double> b = exact.grad_x();
    const double allowed = kTolerance * range_of(b) + 2 * rounding_of<T>(b);
    std::size_t different = 0;
    for (std::size_t i = 0; i < a.size(); ++i) different += std::abs(a[i] - b[i]) > allowed ? 1 : 0;
    // The samples of 16-bit types are rounded: these are other problems.
    const bool same_problem = sizeof(T) >= sizeof(float);
    if (!same_problem || different * 20 < a.size()) return {};
    return short_number(static_cast<double>(different) / static_cast<double>(a.size())) +
           " of the gradients differ";
  }
  const std::vector<double> reference = exact.y();
  const double error = largest_difference(reference, ours.y());
  // Samples are rounded to T, and the result is: by less than twice as much together.
  const double rounding = (sizeof(T) < sizeof(float) ? 3 : 1) * rounding_of<T>(exact.x());
  if (error <= kPasses * kTolerance * range_of(exact.x()) + rounding) return {};
  return "wrong by " + short_number(error);
}

template <class T>
void time_call(benchmark::State& state, const PlaneCase& c, Layout layout, Call call,
               const std::string& name) {
  const std::string& fault =
      fault_of(name, [&] { return difference_from_float64<T>(c, layout, call); });
  if (!fault.empty()) return state.SkipWithError(fault.c_str());
  PlaneCalls<T> calls(c, layout);
  if (call == Call::backward && !calls.forward()) return state.SkipWithError("prox_tv2d failed");
  if (!run(calls, call)) return state.SkipWithError("the call failed");
  for (auto _ : state) {
    if (!run(calls, call)) return state.SkipWithError("the call failed");
  }
  count_elements(state, c.elements() * (call == Call::rows ? 1 : kPasses));
}

template <class T>
void add(const PlaneCase& c) {
  for (const Layout layout : {Layout::contiguous, Layout::channels_last}) {
    for (const Call call : {Call::rows, Call::forward, Call::backward}) {
      std::string name = c.name() + "/" + kCallNames[int(call)] + ":" + Storage<T>::kName;
      if (layout == Layout::channels_last) name += ":channels_last";
      add_benchmark(name,
                    [=](benchmark::State& state) { time_call<T>(state, c, layout, call, name); });
    }
  }
}

}  // namespace

void add_planes(const std::vector<GreyImage>& images) {
  for (const GreyImage& image : images) {
    for (const std::int64_t side : {32, 56}) {
      for (const double lam : kLams) {
        const PlaneCase c = {&image, side, lam};
        add<float>(c);
        add<double>(c);
        add<BFloat16>(c);
        add<_Float16>(c);
      }
    }
  }
}

}  // namespace bench
