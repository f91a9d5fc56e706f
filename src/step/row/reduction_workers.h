// One number per row: the certificate, lam_max, the total variation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend.h"
#include "step/host_device.h"
#include "step/row/accurate_sum.h"
#include "step/row/row_io.h"
#include "step/row/row_values.h"
#include "step/row/scaling.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

constexpr int sign_of(double value) {
  return static_cast<int>(value > 0) - static_cast<int>(value < 0);
}

/// A row of x and its weights, with the weights scaled to the middle of float64's range.
struct ScaledRow {
  const double* weights = nullptr;  // null: all 1
  double weight_scale = 1;
  double size = 0;   // of the largest present sample; NaN or infinite where one is
  bool any = false;  // whether there is a present sample

  [[nodiscard]] constexpr double weight(std::int32_t i) const noexcept {
    return weights == nullptr ? 1 : weights[i];
  }
};

/// Loads x into scratch.x, with 0 for missing samples, and the weights into scratch.weight.
TAUTSTRING_HOST_DEVICE inline ScaledRow load_scaled_row(const ConstRowArray& x,
                                                        const ConstRowArray& weight,
                                                        const Rows& rows, std::int64_t row,
                                                        const RowScratch& scratch) noexcept {
  const std::int32_t n = rows.n;
  ScaledRow result;
  load_row(x.row(rows, row), n, scratch.x);
  result.any = n > 0;
  if (weight.given) {
    load_row(weight.row(rows, row), n, scratch.weight);
    for (std::int32_t i = 0; i < n; ++i) {
      if (scratch.weight[i] == 0) scratch.x[i] = 0;
    }
    const double largest = largest_size(scratch.weight, n);
    result.weights = scratch.weight;
    result.weight_scale = choose_scale(largest);
    result.any = largest > 0;
    multiply(scratch.weight, n, result.weight_scale);
  }
  result.size = largest_size(scratch.x, n);
  return result;
}

class CertificateWorker {
 public:
  TAUTSTRING_HOST_DEVICE CertificateWorker(const Certificate1d& call,
                                           const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const double violation = find_violation(row);
    store_row(call_.out.row(call_.rows, row), 1, &violation);
  }

 private:
  TAUTSTRING_HOST_DEVICE double find_violation(std::int64_t row) noexcept {
    const Rows& rows = call_.rows;
    const std::int32_t n = rows.n;
    const ScaledRow scaled = load_scaled_row(call_.x, call_.weight, rows, row, s_);
    load_row(call_.y.row(rows, row), n, s_.y);
    const double y_size = largest_size(s_.y, n);
    if (!std::isfinite(scaled.size) || !std::isfinite(y_size) || (n > 0 && !scaled.any))
      return std::numeric_limits<double>::quiet_NaN();
    const LoadedLam lam = load_lam(call_.lam, rows, row, s_.lam);

    // One scale for x and y, so that their differences are exact.
    const double scale = choose_scale(std::max(scaled.size, y_size));
    multiply(s_.x, n, scale);
    multiply(s_.y, n, scale);

    AccurateSum dual;
    double violation = 0;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    double largest_lam = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      if (const double weight = scaled.weight(i); weight != 0) {
        low = std::min(low, s_.x[i]);
        high = std::max(high, s_.x[i]);
        dual.add_product(weight, s_.x[i]);
        dual.add_product(-weight, s_.y[i]);
      }
      const double u = dual.value();
      if (i + 1 == n) {
        violation = std::max(violation, std::abs(u));
        break;
      }
      double bound = lam.per_edge ? s_.lam[i] : lam.number;
      if (std::isfinite(bound)) {
        bound = scale_lam(bound, scale, scaled.weight_scale);
        largest_lam = std::max(largest_lam, bound);
      }
      violation = std::max(violation, std::abs(u) - bound);
      if (const int jump = sign_of(s_.y[i] - s_.y[i + 1]); jump != 0) {
        violation = std::max(violation, std::abs(u - bound * jump));
      }
    }
    if (violation == 0) return 0;
    return std::min(violation / (high - low) / scaled.weight_scale, violation / largest_lam);
  }

  const Certificate1d& call_;
  RowScratch s_;
};

class LamMaxWorker {
 public:
  TAUTSTRING_HOST_DEVICE LamMaxWorker(const RowReduction& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const double result = find_lam_max(row);
    store_row(call_.out.row(call_.rows, row), 1, &result);
  }

 private:
  /// Uses the dual of the constant solution: lam_max is its largest absolute value.
  TAUTSTRING_HOST_DEVICE double find_lam_max(std::int64_t row) noexcept {
    const std::int32_t n = call_.rows.n;
    const ScaledRow scaled = load_scaled_row(call_.x, call_.weight, call_.rows, row, s_);
    if (!std::isfinite(scaled.size) || !scaled.any) return std::numeric_limits<double>::quiet_NaN();
    const double scale = choose_scale(scaled.size);
    multiply(s_.x, n, scale);
    std::int32_t first = 0;
    while (scaled.weight(first) == 0) ++first;
    AccurateSum sum;
    AccurateSum width;
    for (std::int32_t i = first; i < n; ++i) {
      if (scaled.weight(i) == 0) continue;
      sum.add_product(scaled.weight(i), s_.x[i] - s_.x[first]);
      width.add(scaled.weight(i));
    }
    const double mean = sum.value() / width.value();
    AccurateSum dual;
    double largest = 0;
    for (std::int32_t i = first; i + 1 < n; ++i) {
      if (scaled.weight(i) == 0) continue;
      dual.add_product(scaled.weight(i), s_.x[i] - s_.x[first]);
      dual.add_product(-scaled.weight(i), mean);
      largest = std::max(largest, std::abs(dual.value()));
    }
    return unscaled(largest, scale, scaled.weight_scale);
  }

  const RowReduction& call_;
  RowScratch s_;
};

class TvWorker {
 public:
  TAUTSTRING_HOST_DEVICE TvWorker(const RowReduction& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const std::int32_t n = call_.rows.n;
    load_row(call_.x.row(call_.rows, row), n, s_.x);
    AccurateSum sum;
    for (std::int32_t i = 1; i < n; ++i) sum.add(std::abs(s_.x[i] - s_.x[i - 1]));
    const double result = sum.value();
    store_row(call_.out.row(call_.rows, row), 1, &result);
  }

 private:
  const RowReduction& call_;
  RowScratch s_;
};

}  // namespace tautstring::detail
