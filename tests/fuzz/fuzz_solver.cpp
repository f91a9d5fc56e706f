// Fuzzes the solver. On rational grids, where ties are everywhere, the certificate
// is small, the reference agrees, and backward and jvp are adjoint. On rows of any
// bits at all the call returns, the solution lies within the samples' range, and
// its jumps are those that the partition says.
#include <fuzzer/FuzzedDataProvider.h>
#include <tautstring/tautstring.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/tv1d_reference.h"

namespace {

using tautstring::view;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Stops the fuzzer where a property does not hold.
void require(bool holds) {
  if (!holds) __builtin_trap();
}

enum class Values : std::uint8_t { thirds, quarters, sevenths, any_bits, kMaxValue = any_bits };

double sample(FuzzedDataProvider& data, Values kind) {
  switch (kind) {
    case Values::thirds: return data.ConsumeIntegralInRange(-9, 9) / 3.0;
    case Values::quarters: return data.ConsumeIntegralInRange(-20, 20) / 4.0;
    case Values::sevenths: return data.ConsumeIntegralInRange(-20, 20) / 7.0;
    case Values::any_bits: break;
  }
  return data.ConsumeFloatingPoint<double>();
}

double penalty(FuzzedDataProvider& data, Values kind) {
  if (kind == Values::any_bits) return std::abs(data.ConsumeFloatingPoint<double>());
  const int choice = data.ConsumeIntegralInRange(-1, 40);
  return choice < 0 ? kInfinity : choice / (kind == Values::sevenths ? 7.0 : 12.0);
}

double data_weight(FuzzedDataProvider& data, Values kind) {
  const double weight = data.ConsumeIntegralInRange(0, 8) / 2.0;
  return kind == Values::any_bits ? std::ldexp(weight, data.ConsumeIntegralInRange(-45, 45))
                                  : weight;
}

struct Row {
  explicit Row(FuzzedDataProvider& data) {
    kind = data.ConsumeEnum<Values>();
    weighted = data.ConsumeBool();
    per_edge = data.ConsumeBool();
    sharpen = data.ConsumeBool();
    n = data.ConsumeIntegralInRange<std::int64_t>(1, 48);
    for (std::int64_t i = 0; i < n; ++i) x.push_back(sample(data, kind));
    const double lam_of_row = penalty(data, kind);
    for (std::int64_t i = 0; i + 1 < n; ++i)
      lam.push_back(per_edge ? penalty(data, kind) : lam_of_row);
    for (std::int64_t i = 0; weighted && i < n; ++i) weight.push_back(data_weight(data, kind));
    if (!per_edge) number = lam_of_row;
  }

  [[nodiscard]] tautstring::Problem1d problem() const {
    tautstring::Problem1d result = {.x = view(x.data(), {n}), .lam = number};
    if (per_edge) result.lam = view(lam.data(), {n - 1});
    if (weighted) result.weight = view(weight.data(), {n});
    return result;
  }

  [[nodiscard]] bool has_sample() const {
    return !weighted || std::any_of(weight.begin(), weight.end(), [](double w) { return w > 0; });
  }

  Values kind;
  bool weighted, per_edge, sharpen;
  std::int64_t n;
  double number = 0;
  std::vector<double> x, lam, weight;
};

/// What rounding y, whose values are below 8, can add to a certificate.
double rounding_of(const Row& row) {
  double low = kInfinity;
  double high = -kInfinity;
  double width = 0;
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    const double weight = row.weighted ? row.weight[i] : 1;
    if (weight == 0) continue;
    low = std::min(low, row.x[i]);
    high = std::max(high, row.x[i]);
    width += weight;
  }
  double size = high - low;
  for (const double lam : row.lam) {
    if (std::isfinite(lam)) size = std::max(size, lam);
  }
  constexpr double kHalfUnit = 0x1p-51;
  return size > 0 ? width * kHalfUnit / size : 0;
}

void check_solution(const Row& row, const std::vector<double>& y) {
  double certificate = 0;
  const auto status =
      tautstring::certificate1d(row.problem(), view(y.data(), {row.n}), view(&certificate, {1}));
  require(status.ok());
  require(certificate <= 1e-13 + rounding_of(row));
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
  // Rounding may leave the range by the rounding of a sum of n values.
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

void check_derivatives(const Row& row, const std::vector<double>& y,
                       const std::vector<std::uint32_t>& partition) {
  const auto mode = row.sharpen ? tautstring::Mode::sharp : tautstring::Mode::smooth;
  tautstring::Solved1d solved = {.partition = partition, .mode = mode};
  if (row.weighted) {
    solved.x = view(row.x.data(), {row.n});
    solved.y = view(y.data(), {row.n});
    solved.weight = view(row.weight.data(), {row.n});
  }
  const auto size = static_cast<std::size_t>(row.n);
  std::vector<double> grad(size), tangent(size), grad_x(size), grad_lam(1), tangent_y(size);
  const double tangent_lam = 0.5;
  for (std::size_t i = 0; i < size; ++i) {
    grad[i] = static_cast<double>(i * 7 % 11) - 5;
    tangent[i] = static_cast<double>(i * 5 % 13) - 6;
  }
  require(tautstring::prox_tv1d_backward(
              solved, view(grad.data(), {row.n}),
              {.x = view(grad_x.data(), {row.n}), .lam = view(grad_lam.data(), {1})})
              .ok());
  require(tautstring::prox_tv1d_jvp(
              solved, {.x = view(tangent.data(), {row.n}), .lam = view(&tangent_lam, {1})},
              view(tangent_y.data(), {row.n}))
              .ok());
  const double forward = std::inner_product(grad.begin(), grad.end(), tangent_y.begin(), 0.0);
  const double reverse = std::inner_product(grad_x.begin(), grad_x.end(), tangent.begin(), 0.0) +
                         grad_lam[0] * tangent_lam;
  require(std::abs(forward - reverse) <= 1e-9);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  const Row row(data);
  const auto count = static_cast<std::size_t>(row.n);
  std::vector<double> y(count);
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(tautstring::partition_words(row.n)));
  tautstring::Problem1d problem = row.problem();
  problem.mode = row.sharpen ? tautstring::Mode::sharp : tautstring::Mode::smooth;
  const tautstring::Status status =
      tautstring::prox_tv1d(problem, view(y.data(), {row.n}), partition);
  const bool lam_is_valid =
      !std::isnan(row.number) &&
      std::none_of(row.lam.begin(), row.lam.end(), [](double lam) { return std::isnan(lam); });
  require(status.ok() == lam_is_valid);
  if (!status.ok()) return 0;
  if (row.kind == Values::any_bits) {
    if (!row.sharpen) check_sanity(row, y, partition);
    return 0;
  }
  if (row.has_sample() && !row.sharpen) check_solution(row, y);
  check_derivatives(row, y, partition);
  return 0;
}
