#include "run_case.h"

#include <tautstring/error.h>
#include <tautstring/tautstring.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "check.h"
#include "data.h"
#include "storage.h"

namespace bench {
namespace {

constexpr std::uint64_t kGradientSeed = 2;

/// A case's arrays on the GPU and the calls on them.
template <class T>
class Batch {
 public:
  Batch(const Case& c, const Stream& stream)
      : case_(c),
        stream_(stream.get()),
        x_(size_of(c.layout)),
        y_(size_of(c.layout)),
        lam_(static_cast<std::size_t>(c.layout.rows() * c.lams_a_row())),
        partition_(
            static_cast<std::size_t>(c.layout.rows() * tautstring::partition_words(c.layout.n))),
        workspace_(workspace_size(c)) {
    fill(c.family, c.layout, kDataSeed, x_.data(), stream_);
    if (lam_.size() > 0) fill_lam(c, lam_.data(), stream_);
    y_.spoil(stream_);
    partition_.spoil(stream_);
  }

  Measured forward() {
    return {.call = [this] { solve(); },
            .check =
                [this] {
                  return Checked{check_forward<T>(case_, {x_.data(), y_.data(), lam()})};
                },
            .copy_from = x_.data(),
            .copy_to = y_.data(),
            .copied_bytes = x_.bytes(),
            .lam_bytes = case_.lam_kind == LamKind::per_edge ? lam_.bytes() : 0,
            .scratch_bytes = workspace_.bytes()};
  }

  /// The derivatives at the solution of forward().
  Measured backward() {
    if (!grad_y_) start_gradients();
    solve();
    return {.call = [this] { differentiate(); },
            .check =
                [this] {
                  return Checked{check_backward<T>(case_, {partition_.data(), grad_y_->data(),
                                                           grad_x_->data(), grad_lam_->data()})};
                },
            .copy_from = grad_y_->data(),
            .copy_to = grad_x_->data(),
            .copied_bytes = grad_y_->bytes(),
            .scratch_bytes = workspace_.bytes()};
  }

 private:
  static std::size_t size_of(const Layout& layout) {
    return static_cast<std::size_t>(layout.elements());
  }

  std::size_t workspace_size(const Case& c) {
    std::size_t bytes = 0;
    tautstring::check(tautstring::prox_tv1d_workspace(view_of(x_.data(), c.shape()), false, c.dim(),
                                                      {.device = tautstring::Device::cuda}, bytes));
    return bytes;
  }

  void start_gradients() {
    grad_y_.emplace(x_.size());
    grad_x_.emplace(x_.size());
    grad_lam_.emplace(static_cast<std::size_t>(case_.layout.rows()));
    fill(Family::noise, case_.layout, kGradientSeed, grad_y_->data(), stream_);
    grad_x_->spoil(stream_);
    grad_lam_->spoil(stream_);
  }

  [[nodiscard]] const T* lam() const { return lam_.size() > 0 ? lam_.data() : nullptr; }

  void solve() {
    tautstring::Problem1d problem = {
        .x = view_of(x_.data(), case_.shape()), .lam = case_.lam, .dim = case_.dim()};
    if (lam() != nullptr) {
      problem.lam = view_of(lam_.data(), {case_.layout.rows(), case_.lams_a_row()});
    }
    tautstring::check(tautstring::prox_tv1d(problem, view_of(y_.data(), case_.shape()),
                                            {partition_.data(), partition_.size()},
                                            context_on(stream_, workspace_)));
  }

  void differentiate() {
    std::vector<std::int64_t> one_a_row = case_.shape();
    one_a_row[case_.dim() < 0 ? one_a_row.size() - 1 : 1] = 1;
    tautstring::check(tautstring::prox_tv1d_backward(
        {.partition = {partition_.data(), partition_.size()}, .dim = case_.dim()},
        view_of(grad_y_->data(), case_.shape()),
        {.x = view_of(grad_x_->data(), case_.shape()),
         .lam = view_of(grad_lam_->data(), one_a_row)},
        context_on(stream_, workspace_)));
  }

  const Case& case_;
  cudaStream_t stream_;
  DeviceArray<T> x_;
  DeviceArray<T> y_;
  DeviceArray<T> lam_;
  DeviceArray<std::uint32_t> partition_;
  DeviceArray<std::byte> workspace_;
  std::optional<DeviceArray<T>> grad_y_;
  std::optional<DeviceArray<T>> grad_x_;
  std::optional<DeviceArray<T>> grad_lam_;
};

template <class T>
void run(const Case& c, const Stream& stream, const Settings& settings) {
  std::optional<Batch<T>> batch;  // created for the first wanted name
  const auto measure_one = [&](const std::string& what, How how, auto part) {
    report(c.name() + "/" + what + ":" + Storage<T>::kName, settings, [&] {
      if (!batch) batch.emplace(c, stream);
      return measure(((*batch).*part)(), how, stream, settings.repeats);
    });
  };
  measure_one("forward", How::called, &Batch<T>::forward);
  if (c.with_graph) measure_one("forward_queued", How::queued, &Batch<T>::forward);
  if (c.with_graph) measure_one("forward_graph", How::from_graph, &Batch<T>::forward);
  if (!c.with_backward) return;
  measure_one("backward", How::called, &Batch<T>::backward);
  if (c.with_graph) measure_one("backward_queued", How::queued, &Batch<T>::backward);
  if (c.with_graph) measure_one("backward_graph", How::from_graph, &Batch<T>::backward);
}

}  // namespace

void run_case(const Case& c, const Stream& stream, const Settings& settings) {
  for (const tautstring::DType dtype : c.dtypes) {
    if (dtype == tautstring::DType::float32) run<float>(c, stream, settings);
    if (dtype == tautstring::DType::float64) run<double>(c, stream, settings);
    if (dtype == tautstring::DType::bfloat16) run<BFloat16>(c, stream, settings);
  }
  if (!c.with_graph) return;
  report(c.name() + "/empty_launch", settings,
         [&] { return measure_empty_launch(stream, settings.repeats); });
}

}  // namespace bench
