// The oracle of the 2D iterations: the paper's Algorithm 1 and its accelerated form, exactly as
// published, in float64, on one image. Written for clarity, not for speed.
//
// With rows(.) and columns(.) the exact solutions of all rows and of all columns:
//   Qb = Q + b (Q - Qold);  Z = rows(X - Qb);     P    = X - Qb - Z
//   Y  = columns(X - P);                          Qnew = X - P - Y
// Algorithm 1 (Dykstra's) has b = 0 throughout. The accelerated form has Nesterov's momentum, and
// restarts it when it points in the wrong direction: <Qb - Qnew, Qnew - Q> > 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tautstring::reference {

/// An image, row by row, and the lams of its edges: along rows height x (width - 1), along
/// columns (height - 1) x width.
struct Problem2d {
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::vector<double> x;
  std::vector<double> lam_rows;
  std::vector<double> lam_cols;
};

/// An iterate for argmin_Y 1/2 |Y - X|^2 + sum over edges lam_e |difference of Y over e|. At the
/// solution P + Q = X - Y, with P from the rows and Q from the columns.
struct Iterate2d {
  std::vector<double> y;
  std::vector<double> p;
  std::vector<double> q;
  std::vector<double> momentum;  // b of each iteration
};

enum class Method2d : std::uint8_t { dykstra, accelerated };

[[nodiscard]] Iterate2d iterate(const Problem2d& problem, Method2d method, int iterations);

/// The objective at y.
[[nodiscard]] double objective(const Problem2d& problem, std::span<const double> y);

/// An upper bound on how far the objective at an iterate's y is above the optimum; 0 at the
/// optimum. u and v, the dual variables of the edges, are sums of P along rows and of Q along
/// columns:
///   sum over edges (lam_e |d_e| - u_e d_e) + 1/2 |X - Y - P - Q|^2, d the differences of Y.
[[nodiscard]] double duality_gap(const Problem2d& problem, const Iterate2d& iterate);

}  // namespace tautstring::reference
