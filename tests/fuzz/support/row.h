// A row to solve, made from the fuzzer's bytes.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/values.h"
#include "tautstring/tautstring.h"

namespace tautstring::fuzz {

enum class Weights : std::uint8_t { none, perhaps };

struct Row {
  explicit Row(FuzzedDataProvider& data, Weights weights = Weights::perhaps) {
    kind = data.ConsumeEnum<Values>();
    weighted = data.ConsumeBool() && weights == Weights::perhaps;
    per_edge = data.ConsumeBool();
    mode = data.ConsumeBool() ? Mode::sharp : Mode::smooth;
    n = data.ConsumeIntegralInRange<std::int64_t>(1, 48);
    for (std::int64_t i = 0; i < n; ++i) x.push_back(sample(data, kind));
    const double lam_of_row = penalty(data, kind);
    for (std::int64_t i = 0; i + 1 < n; ++i)
      lam.push_back(per_edge ? penalty(data, kind) : lam_of_row);
    for (std::int64_t i = 0; weighted && i < n; ++i) weight.push_back(data_weight(data));
    if (!per_edge) number = lam_of_row;
  }

  [[nodiscard]] Problem1d problem(Mode wanted) const {
    Problem1d result = {.x = view(x.data(), {n}), .lam = number, .mode = wanted};
    if (per_edge) result.lam = view(lam.data(), {n - 1});
    if (weighted) result.weight = view(weight.data(), {n});
    return result;
  }

  [[nodiscard]] bool has_sample() const {
    return !weighted || std::any_of(weight.begin(), weight.end(), [](double w) { return w > 0; });
  }

  [[nodiscard]] bool is_lam_valid() const {
    return !std::isnan(number) &&
           std::none_of(lam.begin(), lam.end(), [](double value) { return std::isnan(value); });
  }

  /// The most that rounding y, whose values are below 8, can add to a certificate.
  [[nodiscard]] double rounding() const {
    double low = kInfinity;
    double high = -kInfinity;
    double width = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double share = weighted ? weight[i] : 1;
      if (share == 0) continue;
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
      width += share;
    }
    double size = high - low;
    for (const double value : lam) {
      if (std::isfinite(value)) size = std::max(size, value);
    }
    constexpr double kHalfUnit = 0x1p-51;
    return size > 0 ? width * kHalfUnit / size : 0;
  }

  /// Whether y is the solution according to certificate1d.
  [[nodiscard]] bool is_solution(const std::vector<double>& y) const {
    double certificate = 0;
    const Status status =
        certificate1d(problem(Mode::smooth), view(y.data(), {n}), view(&certificate, {1}));
    return status.ok() && certificate <= 1e-13 + rounding();
  }

  Values kind;
  bool weighted, per_edge;
  Mode mode;
  std::int64_t n;
  double number = 0;
  std::vector<double> x, lam, weight;

 private:
  [[nodiscard]] double data_weight(FuzzedDataProvider& data) const {
    const double value = data.ConsumeIntegralInRange(0, 8) / 2.0;
    return kind == Values::any_bits ? std::ldexp(value, data.ConsumeIntegralInRange(-45, 45))
                                    : value;
  }
};

}  // namespace tautstring::fuzz
