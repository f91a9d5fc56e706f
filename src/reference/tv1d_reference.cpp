#include "reference/tv1d_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tautstring::reference {
namespace {

// Wider than the float64 results it checks, so that its own rounding does not matter.
using Real = long double;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

/// A nondecreasing, piecewise linear, continuous function: the derivative of the lowest cost of the
/// row so far, as a function of its last value.
class Derivative {
 public:
  /// Adds the derivative weight * (value - x) of one more sample.
  void add_sample(Real x, Real weight) {
    for (Piece& piece : pieces_) {
      piece.slope += weight;
      piece.constant -= weight * x;
    }
  }

  /// The place where the function reaches `level`: any of them if it is flat there, infinity if it
  /// never does.
  [[nodiscard]] Real solve(Real level) const {
    for (const Piece& piece : pieces_) {
      if (piece.at(piece.end) < level) continue;  // reached further to the right
      if (piece.slope == 0) return piece.any_place();
      return std::clamp((level - piece.constant) / piece.slope, piece.begin, piece.end);
    }
    return kInfinity;
  }

  /// Passes an edge: clamps the function to [-lam, lam]. The cuts determine the last value from the
  /// next one: it is the next one clamped to [low, high].
  struct Cuts {
    Real low;
    Real high;
  };
  Cuts pass_edge(Real lam) {
    if (lam == kInfinity) return {-kInfinity, kInfinity};
    const Cuts cuts = {pieces_.front().at(-kInfinity) >= -lam ? -kInfinity : solve(-lam),
                       pieces_.back().at(kInfinity) <= lam ? kInfinity : solve(lam)};
    std::vector<Piece> cut;
    if (cuts.low > -kInfinity) cut.push_back({-kInfinity, cuts.low, 0, -lam});
    for (Piece piece : pieces_) {
      piece.begin = std::max(piece.begin, cuts.low);
      piece.end = std::min(piece.end, cuts.high);
      if (piece.begin < piece.end) cut.push_back(piece);
    }
    if (cuts.high < kInfinity) cut.push_back({cuts.high, kInfinity, 0, lam});
    pieces_ = std::move(cut);
    return cuts;
  }

 private:
  struct Piece {
    Real begin;
    Real end;
    Real slope;
    Real constant;
    [[nodiscard]] Real any_place() const {
      if (begin > -kInfinity) return begin;
      return end < kInfinity ? end : 0;
    }
    [[nodiscard]] Real at(Real value) const {
      return slope == 0 ? constant : slope * value + constant;
    }
  };
  std::vector<Piece> pieces_ = {{-kInfinity, kInfinity, 0, 0}};
};

}  // namespace

std::vector<double> prox_tv1d(std::span<const double> x, std::span<const double> lam,
                              std::span<const double> weight) {
  const std::size_t n = x.size();
  std::vector<double> y(n);
  if (n == 0) return y;
  const auto weight_of = [&](std::size_t i) { return weight.empty() ? 1 : weight[i]; };
  std::size_t first = 0;
  while (weight_of(first) == 0) ++first;
  const Real origin = x[first];  // values far from 0 would lose digits
  Derivative derivative;
  std::vector<Derivative::Cuts> cuts(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (weight_of(i) != 0) derivative.add_sample(x[i] - origin, weight_of(i));
    if (i + 1 < n) cuts[i] = derivative.pass_edge(lam[i]);
  }
  Real value = derivative.solve(0);
  y[n - 1] = static_cast<double>(value + origin);
  for (std::size_t i = n - 1; i-- > 0;) {
    value = std::clamp(value, cuts[i].low, cuts[i].high);
    y[i] = static_cast<double>(value + origin);
  }
  return y;
}

double objective(std::span<const double> x, std::span<const double> lam,
                 std::span<const double> weight, std::span<const double> y) {
  double value = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i];
    if (w != 0) value += w * (y[i] - x[i]) * (y[i] - x[i]) / 2;
  }
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    if (y[i + 1] != y[i]) value += lam[i] * std::abs(y[i + 1] - y[i]);
  }
  return value;
}

}  // namespace tautstring::reference
