// One number a row: the certificate, lam_max, the total variation; and the list
// of segments.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/row_io.h"
#include "cpu/row_lam.h"

namespace tautline::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A sum in twice float64's precision (Knuth's two-sum).
class AccurateSum {
 public:
  void add(double value) noexcept {
    const double sum = sum_ + value;
    const double part = sum - sum_;
    error_ += (sum_ - (sum - part)) + (value - part);
    sum_ = sum;
  }
  /// Adds a * b without rounding the product.
  void add_product(double a, double b) noexcept {
    const double product = a * b;
    add(product);
    error_ += std::fma(a, b, -product);
  }
  [[nodiscard]] double value() const noexcept { return sum_ + error_; }

 private:
  double sum_ = 0;
  double error_ = 0;
};

int sign_of(double value) {
  return static_cast<int>(value > 0) - static_cast<int>(value < 0);
}

class CertificateWorker {
 public:
  CertificateWorker(const Certificate1d& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  void operator()(std::int64_t row) noexcept {
    const double violation = find_violation(row);
    store_row(call_.out.row(call_.rows, row), 1, &violation);
  }

 private:
  double find_violation(std::int64_t row) noexcept {
    const Rows& rows = call_.rows;
    const std::int32_t n = rows.n;
    const bool weighted = call_.weight.given;
    load_row(call_.x.row(rows, row), n, s_.x);
    load_row(call_.y.row(rows, row), n, s_.y);
    if (weighted) load_row(call_.weight.row(rows, row), n, s_.weight);
    const LoadedLam lam = load_lam(call_.lam, rows, row, s_.lam);

    AccurateSum dual;
    double violation = 0;
    double low = kInfinity;
    double high = -kInfinity;
    double largest_lam = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      if (!std::isfinite(s_.y[i])) return kNan;
      if (!weighted || s_.weight[i] != 0) {
        if (!std::isfinite(s_.x[i])) return kNan;
        low = std::min(low, s_.x[i]);
        high = std::max(high, s_.x[i]);
        const double weight = weighted ? s_.weight[i] : 1;
        dual.add_product(weight, s_.x[i]);
        dual.add_product(-weight, s_.y[i]);
      }
      const double u = dual.value();
      if (i + 1 == n) {
        violation = std::max(violation, std::abs(u));
        break;
      }
      const double bound = lam.per_edge ? s_.lam[i] : lam.number;
      if (std::isfinite(bound)) largest_lam = std::max(largest_lam, bound);
      violation = std::max(violation, std::abs(u) - bound);
      if (const int jump = sign_of(s_.y[i] - s_.y[i + 1]); jump != 0) {
        violation = std::max(violation, std::abs(u - bound * jump));
      }
    }
    if (n > 0 && low > high) return kNan;  // no sample at all
    const double size = std::max(high - low, largest_lam);
    return violation > 0 ? violation / size : 0;
  }

  const Certificate1d& call_;
  RowScratch s_;
};

class LamMaxWorker {
 public:
  LamMaxWorker(const RowReduction& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  void operator()(std::int64_t row) noexcept {
    const double result = find_lam_max(row);
    store_row(call_.out.row(call_.rows, row), 1, &result);
  }

 private:
  [[nodiscard]] double weight(std::int32_t i) const noexcept {
    return call_.weight.given ? s_.weight[i] : 1;
  }

  /// The dual of the constant solution: its largest value is what lam must bear.
  double find_lam_max(std::int64_t row) noexcept {
    const std::int32_t n = call_.rows.n;
    load_row(call_.x.row(call_.rows, row), n, s_.x);
    if (call_.weight.given) load_row(call_.weight.row(call_.rows, row), n, s_.weight);
    std::int32_t first = 0;
    while (first < n && weight(first) == 0) ++first;
    if (first == n) return kNan;
    AccurateSum sum;
    AccurateSum width;
    for (std::int32_t i = first; i < n; ++i) {
      if (weight(i) == 0) continue;
      if (!std::isfinite(s_.x[i])) return kNan;
      sum.add_product(weight(i), s_.x[i] - s_.x[first]);
      width.add(weight(i));
    }
    const double mean = sum.value() / width.value();
    AccurateSum dual;
    double largest = 0;
    for (std::int32_t i = first; i + 1 < n; ++i) {
      if (weight(i) == 0) continue;
      dual.add_product(weight(i), s_.x[i] - s_.x[first]);
      dual.add_product(-weight(i), mean);
      largest = std::max(largest, std::abs(dual.value()));
    }
    return largest;
  }

  const RowReduction& call_;
  RowScratch s_;
};

class TvWorker {
 public:
  TvWorker(const RowReduction& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch) {}

  void operator()(std::int64_t row) noexcept {
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

}  // namespace

Status certificate1d(const Certificate1d& call, const Context& context) noexcept {
  if (const Status status = check_lam(call.lam, call.rows); !status.ok()) return status;
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  return for_each_row<CertificateWorker>(call, call.rows, call.weight.given, context);
}

Status lam_max(const RowReduction& call, const Context& context) noexcept {
  if (const Status status = check_weight(call.weight, call.rows); !status.ok()) return status;
  return for_each_row<LamMaxWorker>(call, call.rows, call.weight.given, context);
}

Status tv(const RowReduction& call, const Context& context) noexcept {
  return for_each_row<TvWorker>(call, call.rows, false, context);
}

Status segments1d(const Segments1d& call, const Context& /*context*/) noexcept {
  Segment* next = call.segments;
  for (std::int64_t r = 0; r < call.rows.count; ++r) {
    const auto values = call.y.row(call.rows, r);
    const std::uint32_t* codes = call.partition + r * partition_words(call.rows.n);
    for (std::int32_t i = 0; i < call.rows.n; ++i) {
      const Code code = code_at(codes, i);
      if (code != Code::continues) {
        *next++ = {
            .start = i, .length = 0, .value = load_element(values, i), .sign = jump_sign(code)};
      }
      if (next != call.segments) ++next[-1].length;
    }
  }
  return {};
}

}  // namespace tautline::detail
