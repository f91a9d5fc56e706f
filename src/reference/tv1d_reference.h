// The oracle of the tests: solves the 1D problem by another algorithm (dynamic programming over the
// derivative of the best cost so far, Johnson 2013), in extended precision. Written for clarity,
// not for speed.
#pragma once

#include <span>
#include <vector>

namespace tautstring::reference {

/// argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|.
/// `weight` may be empty (all 1) and may contain zeros, but not only zeros. `lam` has one element
/// per edge, each >= 0; infinity is allowed. x must be finite.
std::vector<double> prox_tv1d(std::span<const double> x, std::span<const double> lam,
                              std::span<const double> weight = {});

/// The value of this objective at y.
double objective(std::span<const double> x, std::span<const double> lam,
                 std::span<const double> weight, std::span<const double> y);

}  // namespace tautstring::reference
