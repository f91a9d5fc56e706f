// A sum in twice float64's precision.
#pragma once

#include <cmath>

#include "step/host_device.h"

namespace tautstring::detail {

/// Knuth's two-sum, with the errors summed separately.
class AccurateSum {
 public:
  constexpr void add(double value) noexcept {
    const double sum = sum_ + value;
    const double part = sum - sum_;
    error_ += (sum_ - (sum - part)) + (value - part);
    sum_ = sum;
  }
  constexpr void add(const AccurateSum& other) noexcept {
    add(other.sum_);
    error_ += other.error_;
  }
  /// Adds a * b without rounding the product.
  TAUTSTRING_HOST_DEVICE void add_product(double a, double b) noexcept {
    const double product = a * b;
    add(product);
    error_ += std::fma(a, b, -product);
  }
  TAUTSTRING_HOST_DEVICE void add_product(const AccurateSum& a, double b) noexcept {
    add_product(a.sum_, b);
    error_ += a.error_ * b;
  }
  /// The errors of a sum that is not finite are meaningless.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double value() const noexcept {
    return std::isfinite(sum_) ? sum_ + error_ : sum_;
  }

 private:
  double sum_ = 0;
  double error_ = 0;
};

}  // namespace tautstring::detail
