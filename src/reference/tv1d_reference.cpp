#include "reference/tv1d_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tautline::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A nondecreasing, piecewise linear, continuous function: the derivative of the
/// cost of the best start of the row, as a function of its last value.
class Derivative {
 public:
  /// Adds the derivative weight * (value - x) of one more sample.
  void add_sample(double x, double weight) {
    for (Piece& piece : pieces_) {
      piece.slope += weight;
      piece.constant -= weight * x;
    }
  }

  /// Where the function reaches `level`: any such place where it is flat,
  /// +-infinity where it never does.
  [[nodiscard]] double solve(double level) const {
    for (const Piece& piece : pieces_) {
      if (piece.at(piece.end) < level) continue;  // reached further right
      if (piece.slope == 0) return piece.begin;
      return std::clamp((level - piece.constant) / piece.slope, piece.begin, piece.end);
    }
    return kInfinity;
  }

  /// Passes an edge: cuts the function off at -lam and +lam. The cuts tell how
  /// the last value follows from the next one: by clamping it to [low, high].
  struct Cuts {
    double low;
    double high;
  };
  Cuts pass_edge(double lam) {
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
    double begin;
    double end;
    double slope;
    double constant;
    [[nodiscard]] double at(double value) const {
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
  Derivative derivative;
  std::vector<Derivative::Cuts> cuts(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double w = weight.empty() ? 1 : weight[i];
    if (w != 0) derivative.add_sample(x[i], w);
    if (i + 1 < n) cuts[i] = derivative.pass_edge(lam[i]);
  }
  y[n - 1] = derivative.solve(0);
  for (std::size_t i = n - 1; i-- > 0;) y[i] = std::clamp(y[i + 1], cuts[i].low, cuts[i].high);
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

}  // namespace tautline::reference
