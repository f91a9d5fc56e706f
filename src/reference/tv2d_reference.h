// The oracle of the 2D tests: the problem on integers, solved exactly in a finite number of steps
// by minimum cuts. It uses no 1D solver, rounds nothing, and returns a proof with its result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tautstring::reference {

/// An image of integers, row by row; the caller quantises. lam_rows is height x (width - 1), along
/// the rows; lam_cols is (height - 1) x width. Both are >= 0.
///
/// To avoid overflow, the largest of all |x| and lam, times the square of the number of pixels,
/// must be at most 2^60. So the largest value is 2^36 for 64 x 64, 2^24 for 512 x 512, 2^20 for
/// 1024 x 1024.
struct IntegerProblem2d {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> lam_rows;
  std::vector<std::int64_t> lam_cols;
};

/// Not always in lowest terms: numerator and denominator have meanings of their own.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;
  [[nodiscard]] double value() const {
    return static_cast<double>(numerator) / static_cast<double>(denominator);
  }
};

/// A component is a maximal connected set of pixels of equal y. Edges of lam 0 connect nothing: two
/// neighbours with lam > 0 between them are in one component if and only if their values are equal.
///
/// u (on the edges along rows) and v (along columns) prove that y is optimal:
///   x - y = D_rows^T u + D_cols^T v, at a pixel u_left - u_right + v_above - v_below;
///   |u| <= lam_rows, |v| <= lam_cols;
///   u = lam sgn(y_right - y_left), v = lam sgn(y_below - y_above) where y jumps.
/// y is unique, u and v are not.
struct ExactSolution2d {
  std::vector<std::size_t> labels;   // the component of each pixel
  std::vector<Fraction> components;  // its value: the sum of y over it / its number of pixels
  std::vector<Fraction> exact_u;     // denominator: the component's number of pixels, or 1 at jumps
  std::vector<Fraction> exact_v;
  std::vector<double> y;  // rounded, as u and v
  std::vector<double> u;
  std::vector<double> v;
};

/// argmin_y 1/2 |y - x|^2 + sum lam_rows |y_right - y_left| + sum lam_cols |y_below - y_above|.
/// Throws std::invalid_argument for wrong sizes, a negative lam, and numbers that are too large.
ExactSolution2d prox_tv2d(const IntegerProblem2d& problem);

}  // namespace tautstring::reference
