#include "run_newton_case.h"

#include <tautstring/error.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "check.h"
#include "data.h"
#include "storage.h"

namespace bench {
namespace {

using tautstring::LineSearch;

/// A case's arrays on the GPU and the calls on them. Rows that do not converge are left as they are
/// and counted.
template <class T>
class NewtonBatch {
 public:
  NewtonBatch(const Case& c, const Stream& stream)
      : case_(c),
        stream_(stream.get()),
        x_(static_cast<std::size_t>(c.layout.elements())),
        y_(x_.size()),
        partition_(
            static_cast<std::size_t>(c.layout.rows() * tautstring::partition_words(c.layout.n))),
        iterations_(static_cast<std::size_t>(c.layout.rows())),
        converged_(iterations_.size()),
        workspace_(workspace_size(c)) {
    fill(c.family, c.layout, kDataSeed, x_.data(), stream_);
    y_.spoil(stream_);
    partition_.spoil(stream_);
  }

  Measured solved_by(LineSearch line_search) {
    return {.call = [this, line_search] { solve(line_search); },
            .check = [this] { return check(); },
            .copy_from = x_.data(),
            .copy_to = y_.data(),
            .copied_bytes = x_.bytes(),
            .scratch_bytes = workspace_.bytes()};
  }

 private:
  std::size_t workspace_size(const Case& c) {
    std::size_t bytes = 0;
    tautstring::check(tautstring::prox_tv1d_newton_workspace(
        view_of(x_.data(), c.shape()), c.dim(), {.device = tautstring::Device::cuda}, bytes));
    return bytes;
  }

  void solve(LineSearch line_search) {
    tautstring::check(tautstring::prox_tv1d_newton(
        {.x = view_of(x_.data(), case_.shape()), .lam = case_.lam, .dim = case_.dim()},
        {.line_search = line_search, .polish = false},
        {.y = view_of(y_.data(), case_.shape()),
         .partition = {partition_.data(), partition_.size()},
         .iterations = {iterations_.data(), iterations_.size()},
         .converged = {converged_.data(), converged_.size()}},
        context_on(stream_, workspace_)));
  }

  Checked check() {
    const auto iterations = fetched(iterations_.data(), iterations_.size());
    const auto converged = fetched(converged_.data(), converged_.size());
    const auto left = static_cast<double>(std::ranges::count(converged, 0));
    return {.difference = check_forward<T>(case_, {x_.data(), y_.data(), nullptr}),
            .iterations = *std::ranges::max_element(iterations),
            .left = left / static_cast<double>(converged.size())};
  }

  const Case& case_;
  cudaStream_t stream_;
  DeviceArray<T> x_;
  DeviceArray<T> y_;
  DeviceArray<std::uint32_t> partition_;
  DeviceArray<std::int32_t> iterations_;
  DeviceArray<std::uint8_t> converged_;
  DeviceArray<std::byte> workspace_;
};

template <class T>
void run(const Case& c, const Stream& stream, const Settings& settings) {
  std::optional<NewtonBatch<T>> batch;  // created for the first wanted name
  const auto measure_one = [&](const std::string& what, LineSearch line_search) {
    report(c.name() + "/" + what + ":" + Storage<T>::kName, settings, [&] {
      if (!batch) batch.emplace(c, stream);
      return measure(batch->solved_by(line_search), How::called, stream, settings.repeats);
    });
  };
  measure_one("newton", LineSearch::interpolation);
  measure_one("newton_halving", LineSearch::halving);
}

}  // namespace

void run_newton_case(const Case& c, const Stream& stream, const Settings& settings) {
  for (const tautstring::DType dtype : c.dtypes) {
    if (dtype == tautstring::DType::float32) run<float>(c, stream, settings);
    if (dtype == tautstring::DType::float64) run<double>(c, stream, settings);
  }
}

}  // namespace bench
