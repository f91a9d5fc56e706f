// Fuzzes the direct solver of rows. On rational grids the certificate is small and the reference
// agrees. On rows of arbitrary bits the call returns, the solution is within the samples' range,
// and its jumps are those of the partition.
#include <fuzzer/FuzzedDataProvider.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/tv1d_reference.h"
#include "support/require.h"
#include "support/row.h"
#include "support/values.h"

namespace {

using tautstring::view;
using tautstring::fuzz::kInfinity;
using tautstring::fuzz::require;
using tautstring::fuzz::Row;
using tautstring::fuzz::Values;

void check_solution(const Row& row, const std::vector<double>& y) {
  require(row.is_solution(y));
  const std::vector<double> expected = tautstring::reference::prox_tv1d(row.x, row.lam, row.weight);
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!row.weighted || row.weight[i] > 0) require(std::abs(y[i] - expected[i]) <= 1e-13);
  }
}

void check_sanity(const Row& row, const std::vector<double>& y,
                  const std::vector<std::uint32_t>& partition) {
  double low = kInfinity;
  double high = -kInfinity;
  const bool copied =
      std::all_of(row.lam.begin(), row.lam.end(), [](double lam) { return lam == 0; });
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (row.weighted && row.weight[i] == 0) continue;
    if (!std::isfinite(row.x[i]) || copied) return;  // a NaN row, or a copy
    low = std::min(low, row.x[i]);
    high = std::max(high, row.x[i]);
  }
  if (low > high) return;  // no sample
  // The result may leave the range by the rounding error of a sum of n values.
  const double slack = 1e-13 * std::max(std::abs(low), std::abs(high));
  for (std::size_t i = 0; i < y.size(); ++i) {
    require(y[i] >= low - slack && y[i] <= high + slack);
    const tautstring::Code code =
        tautstring::code_at(partition.data(), static_cast<std::int64_t>(i));
    if (i == 0) continue;
    if (code == tautstring::Code::continues) require(y[i] == y[i - 1]);
    if (code == tautstring::Code::up) require(y[i] >= y[i - 1]);
    if (code == tautstring::Code::down) require(y[i] <= y[i - 1]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const Row row(data);
  const auto count = static_cast<std::size_t>(row.n);
  std::vector<double> y(count);
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(tautstring::partition_words(row.n)));
  const tautstring::Status status =
      tautstring::prox_tv1d(row.problem(row.mode), view(y.data(), {row.n}), partition);
  require(status.ok() == row.is_lam_valid());
  if (!status.ok() || row.mode == tautstring::Mode::sharp) return 0;
  if (row.kind == Values::any_bits) {
    check_sanity(row, y, partition);
  } else if (row.has_sample()) {
    check_solution(row, y);
  }
  return 0;
}
