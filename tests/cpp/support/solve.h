// Calls the public API on one row and returns the results as float64.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/rows.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {

[[nodiscard]] std::string dtype_name(DType dtype);

/// An array of any dtype, filled from and read as float64.
class Array {
 public:
  Array(DType dtype, std::span<const double> values);
  Array(DType dtype, std::size_t size);

  [[nodiscard]] View view();
  [[nodiscard]] ConstView view() const;
  [[nodiscard]] View view(std::initializer_list<std::int64_t> shape);
  [[nodiscard]] std::vector<double> values() const;
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  DType dtype_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

/// lam in the form that a call takes.
Lam lam_of(const Row& row);

/// Solves a row whose values, rounded to `dtype` first, are in `row`.
struct Solution {
  explicit Solution(const Row& row, DType dtype = DType::float64, Mode mode = Mode::smooth);

  [[nodiscard]] Solved1d solved() const;
  [[nodiscard]] std::vector<Code> codes() const;

  std::vector<double> y;
  std::vector<std::uint32_t> partition;
  double certificate = 0;  // only in smooth mode

  // Needed by the derivatives.
  Array x_array, weight_array, y_array;
  bool weighted;
  Mode mode;
};

/// The row after rounding x to a dtype.
Row rounded(Row row, DType dtype);

/// One unit in the last place of a dtype at the size of `value`.
double unit_in_last_place(DType dtype, double value);

/// The tolerances of the project (see docs/numerics.md): a fraction of the range plus one unit in
/// the last place.
double value_fraction(DType dtype);
double value_tolerance(DType dtype, const Row& row);

/// The largest allowed certificate: the value tolerance, accumulated in the running sum of n
/// rounded values.
double certificate_tolerance(DType dtype, const Row& row);

}  // namespace tautstring::testing
