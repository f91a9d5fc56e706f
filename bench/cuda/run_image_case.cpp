#include "run_image_case.h"

#include <tautstring/error.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image_check.h"
#include "image_data.h"
#include "storage.h"

namespace bench {
namespace {

constexpr std::uint64_t kDataSeed = 1;
constexpr std::uint64_t kGradientSeed = 11;  // features use several seeds

std::size_t count_of(std::int64_t elements) {
  return static_cast<std::size_t>(elements);
}

/// A case's arrays on the GPU and the calls on them.
class ImageBatch {
 public:
  ImageBatch(const ImageCase& c, const Stream& stream)
      : case_(c),
        stream_(stream.get()),
        x_(count_of(c.shape.elements())),
        y_(x_.size()),
        partitions_(count_of(tautstring::saved_words2d(problem().x, c.saved_iterations()))),
        momentum_(has_momentum() ? count_of(c.shape.images() * c.solver.iterations) : 0),
        iterations_(c.solver.tol > 0 ? count_of(c.shape.images()) : 0),
        grad_y_(x_.size()),
        grad_x_(x_.size()),
        grad_lam_rows_(count_of(c.shape.images() * c.shape.height)),
        grad_lam_cols_(count_of(c.shape.images() * c.shape.width)),
        workspace_(workspace_size()),
        copy_from_(c.bytes_moved() / 2 / sizeof(float)),
        copy_to_(copy_from_.size()) {
    fill_images(c.family, c.shape, kDataSeed, x_.data(), stream_);
    fill_images(ImageFamily::noise, c.shape, kGradientSeed, grad_y_.data(), stream_);
    fill_images(ImageFamily::noise, {.width = static_cast<std::int64_t>(copy_from_.size())},
                kDataSeed, copy_from_.data(), stream_);
    y_.spoil(stream_);
    partitions_.spoil(stream_);
    momentum_.spoil(stream_);
    grad_x_.spoil(stream_);
    grad_lam_rows_.spoil(stream_);
    grad_lam_cols_.spoil(stream_);
  }

  Measured forward() {
    Measured measured = beside_copy();
    measured.call = [this] { solve(); };
    measured.check = [this] {
      return Checked{.difference = check_images(case_, {x_.data(), y_.data()}),
                     .iterations = most_iterations()};
    };
    measured.ends_by_itself = case_.solver.tol > 0;
    return measured;
  }

  /// The derivatives at the solution of forward().
  Measured backward() {
    solve();
    Measured measured = beside_copy();
    measured.call = [this] { differentiate(); };
    measured.check = [this] { return Checked{check_image_gradients(case_, gradients())}; };
    return measured;
  }

 private:
  [[nodiscard]] bool has_momentum() const {
    return case_.solver.method == tautstring::Method2d::accelerated &&
           case_.solver.derivative == tautstring::Derivative2d::unrolled;
  }

  /// All members except the call.
  [[nodiscard]] Measured beside_copy() const {
    Measured measured;
    measured.copy_from = copy_from_.data();
    measured.copy_to = copy_to_.data();
    measured.copied_bytes = copy_from_.bytes();
    measured.scratch_bytes = workspace_.bytes();
    measured.saved_bytes = partitions_.bytes() + momentum_.bytes();
    return measured;
  }

  [[nodiscard]] ImageGradients gradients() const {
    return {.partitions = {partitions_.data(), partitions_.size()},
            .momentum = {momentum_.data(), momentum_.size()},
            .grad_y = grad_y_.data(),
            .grad_x = grad_x_.data(),
            .grad_lam_rows = grad_lam_rows_.data(),
            .grad_lam_cols = grad_lam_cols_.data()};
  }

  [[nodiscard]] tautstring::Problem2d problem() const {
    return {.x = view_of(static_cast<const float*>(x_.data()), case_.shape.sizes()),
            .lam_rows = case_.lam,
            .lam_cols = case_.lam};
  }

  [[nodiscard]] std::size_t workspace_size() const {
    std::size_t bytes = 0;
    tautstring::check(
        tautstring::prox_tv2d_workspace(problem(), {.device = tautstring::Device::cuda}, bytes));
    return bytes;
  }

  void solve() {
    tautstring::check(
        tautstring::prox_tv2d(problem(), case_.solver,
                              {.y = view_of(y_.data(), case_.shape.sizes()),
                               .partitions = {partitions_.data(), partitions_.size()},
                               .momentum = {momentum_.data(), momentum_.size()},
                               .iterations = {iterations_.data(), iterations_.size()}},
                              context_on(stream_, workspace_)));
  }

  void differentiate() {
    std::array<std::int64_t, 4> one_a_row = case_.shape.sizes();
    std::array<std::int64_t, 4> one_a_column = one_a_row;
    one_a_row[3] = 1;
    one_a_column[2] = 1;
    tautstring::check(tautstring::prox_tv2d_backward(
        {.partitions = {partitions_.data(), partitions_.size()},
         .momentum = {momentum_.data(), momentum_.size()},
         .iterations = case_.solver.iterations,
         .derivative = case_.solver.derivative},
        view_of(static_cast<const float*>(grad_y_.data()), case_.shape.sizes()),
        {.x = view_of(grad_x_.data(), case_.shape.sizes()),
         .lam_rows = view_of(grad_lam_rows_.data(), one_a_row),
         .lam_cols = view_of(grad_lam_cols_.data(), one_a_column)},
        context_on(stream_, workspace_)));
  }

  /// 0 if iterations are not recorded.
  [[nodiscard]] std::int32_t most_iterations() const {
    const std::vector<std::int32_t> done = fetched(iterations_.data(), iterations_.size());
    return done.empty() ? 0 : std::ranges::max(done);
  }

  const ImageCase& case_;
  cudaStream_t stream_;
  DeviceArray<float> x_;
  DeviceArray<float> y_;
  DeviceArray<std::uint32_t> partitions_;
  DeviceArray<double> momentum_;
  DeviceArray<std::int32_t> iterations_;
  DeviceArray<float> grad_y_;
  DeviceArray<float> grad_x_;
  DeviceArray<float> grad_lam_rows_;
  DeviceArray<float> grad_lam_cols_;
  DeviceArray<std::byte> workspace_;
  DeviceArray<float> copy_from_;
  DeviceArray<float> copy_to_;
};

std::string suffix_of(How how) {
  switch (how) {
    case How::called: return "";
    case How::queued: return "_queued";
    case How::from_graph: return "_graph";
  }
  return "";
}

}  // namespace

void run_image_case(const ImageCase& c, const Stream& stream, const Settings& settings) {
  std::optional<ImageBatch> batch;  // created for the first wanted name
  const auto measure_all = [&](const std::string& what, auto part) {
    for (const How how : c.ways) {
      report(c.name() + "/" + what + suffix_of(how) + ":fp32", settings, [&] {
        if (!batch) batch.emplace(c, stream);
        return measure(((*batch).*part)(), how, stream, settings.repeats);
      });
    }
  };
  measure_all("forward", &ImageBatch::forward);
  measure_all("backward", &ImageBatch::backward);
  if (!c.with_empty_launch) return;
  report(c.name() + "/empty_launch", settings,
         [&] { return measure_empty_launch(stream, settings.repeats); });
}

}  // namespace bench
