// Projected Newton on the dual problem of one row, in float64:
//
//   min over u  f(u) = 1/2 sum_j y_j^2   with  y_j = x_j - (u_{j+1} - u_j),  |u_k| <= lam_k,
//
// where u_k is the dual variable of the edge before sample k, and u_0 = u_n = 0. The gradient of f
// there is y_k - y_{k-1}. Edges at a bound are fixed if the negative gradient points out of the
// interval; all others are free.
//
// The Newton system of the free edges, tridiag(-1, 2, -1) on each run of them, need not be
// factored: its solution makes y constant between two fixed edges, so the target of an iteration is
// the running sum of x minus a mean. Except for rounding, Cholesky's factors give the same in more
// steps.
//
// Shared by host and device; knows nothing of dtypes, and takes its arrays from the caller.
#pragma once

#include <cstdint>
#include <limits>

#include "tautstring/partition.h"

namespace tautstring::detail {

/// Rows of more samples start from the row of their pairs; shorter ones would not gain from that.
inline constexpr std::int32_t kNewtonShortRow = 32;

/// Room for all the rows of pairs of a row of n samples; each may have one sample without a
/// partner.
[[nodiscard]] constexpr std::int64_t newton_coarse_samples(std::int32_t n) noexcept {
  return std::int64_t{n} + 32;
}

/// Runs of more samples are summed a second time, around their mean: the rounding error of the
/// first sum grows with the square of their number if rounding always goes the same way.
inline constexpr std::int32_t kNewtonRefinedLength = 64;

/// The fraction of the decrease predicted by the slope that a step must achieve (Armijo's rule).
inline constexpr double kNewtonEnough = 1e-4;

/// Number of step lengths that are tried before a row is given up, and number of those tried at
/// once by halving.
inline constexpr int kNewtonTrials = 32;
inline constexpr int kNewtonHalvings = 8;

struct NewtonOptions {
  int iterations = 0;
  double tol = 0;
  bool halves = false;  // else steps are interpolated
};

/// Memory for a row of n samples.
struct NewtonArrays {
  double* x;            // the n samples, which are not far from 0 compared with their range
  double* lam;          // lam of the edge before sample k at [k - 1]: n - 1, and room for one more
  double* u;            // n + 1, like the next two
  double* next;         // where a step leads
  double* target;       // the target of an iteration; before the first one, the start
  std::int32_t* fixed;  // edges, n
  double* coarse_x;     // newton_coarse_samples, like the next
  double* coarse_lam;
};

class NewtonRow {
 public:
  /// `range` is the range of the samples.
  constexpr NewtonRow(const NewtonArrays& arrays, std::int32_t n, double range,
                      const NewtonOptions& options) noexcept
      : a_(arrays),
        options_(options),
        range_(range),
        unit_(std::numeric_limits<double>::epsilon() *
              (n + kNewtonRefinedLength * (kNewtonRefinedLength / 8.0))),
        n_(n) {}

  /// Iterates to the end, from arrays.target or, if not given, from a start of its own; returns
  /// whether the result is the solution.
  constexpr bool solve(bool has_start) noexcept;

  /// The iterations of solve on the row itself.
  [[nodiscard]] constexpr int iterations() const noexcept { return iterations_; }

  /// Stores the codes of the result of solve; destroys arrays.next and .fixed.
  constexpr void store_codes(Code* codes) noexcept;

 private:
  /// How good a target is; squares are counted twice.
  struct Aim {
    double squares = 0;       // of x - y
    double jumps = 0;         // sum of lam |jump|
    double squares_lost = 0;  // of the difference between clipped dual variables and x - y
    double jumps_lost = 0;    // by edges that are fixed at the wrong bound
    /// The most by which a dual variable exceeds its bound, or must leave it, minus the possible
    /// rounding error of one of that size.
    double violation = 0;

    [[nodiscard]] constexpr double objective() const noexcept { return squares / 2 + jumps; }
    [[nodiscard]] constexpr double gap() const noexcept { return squares_lost / 2 + jumps_lost; }
  };
  /// The effect of a step on f: as predicted by the slope at the start, and what curvature adds.
  struct Descent {
    double slope = 0;
    double curvature = 0;

    [[nodiscard]] constexpr double change() const noexcept { return slope + curvature / 2; }
    [[nodiscard]] constexpr bool is_enough() const noexcept {
      return change() < 0 && change() <= kNewtonEnough * slope;
    }
  };
  struct Row {
    const double* x;
    double* lam;
    std::int32_t n;
  };

  constexpr void find_start(Row row) noexcept;
  constexpr bool iterate(const Row& row, int limit) noexcept;
  constexpr Aim aim(const Row& row) noexcept;
  constexpr double aim_run(const Row& row, std::int32_t first, std::int32_t last,
                           Aim& aim) noexcept;
  constexpr bool descend(const Row& row) noexcept;
  constexpr bool interpolate(const Row& row, Descent descent) noexcept;
  constexpr bool halve(const Row& row) noexcept;
  constexpr Descent step(const Row& row, double length) noexcept;
  constexpr void take_step() noexcept;
  constexpr void start_at_target(const Row& row) noexcept;
  constexpr void spread(std::int32_t n) noexcept;
  static constexpr void join_pairs(const Row& row, double* x, double* lam) noexcept;

  [[nodiscard]] constexpr double gradient(const Row& row, std::int32_t k) const noexcept {
    const double right = row.x[k] - (a_.u[k + 1] - a_.u[k]);
    return right - (row.x[k - 1] - (a_.u[k] - a_.u[k - 1]));
  }
  /// Edge k after a step of this length towards the target, within its bounds. It stays the same,
  /// to the last bit, if it is at the target.
  [[nodiscard]] constexpr double towards_target(const Row& row, std::int32_t k,
                                                double length) const noexcept {
    return clip(a_.u[k] + length * (a_.target[k] - a_.u[k]), row.lam[k - 1]);
  }
  /// Written so that compilers generate no branch.
  [[nodiscard]] static constexpr double larger(double a, double b) noexcept {
    return a > b ? a : b;
  }
  [[nodiscard]] static constexpr double clip(double value, double bound) noexcept {
    return larger(value < bound ? value : bound, -bound);
  }
  [[nodiscard]] static constexpr double size(double value) noexcept {
    return larger(value, -value);
  }
  /// Whether y falls in the direction of a dual variable at its bound. By a product, as branches on
  /// noise take longer than everything else; it is scaled so that it does not underflow to 0 for
  /// the numbers here.
  [[nodiscard]] static constexpr bool is_jump(double fall, double bound) noexcept {
    return fall * 0x1p500 * bound > 0;
  }
  /// The origin is one of the samples: if neighbours are similar, no digit is lost.
  [[nodiscard]] static constexpr double sum_around(const double* x, std::int32_t first,
                                                   std::int32_t last, double origin,
                                                   double mean) noexcept {
    double sum = 0;
    for (std::int32_t j = first; j < last; ++j) sum += (x[j] - origin) - mean;
    return sum;
  }
  /// The number of samples of the row of pairs of pairs of ...; the last one may have no partner.
  [[nodiscard]] constexpr std::int32_t samples(int level) const noexcept {
    return static_cast<std::int32_t>((std::int64_t{n_} + (std::int64_t{1} << level) - 1) >> level);
  }
  [[nodiscard]] constexpr std::int32_t run_end(std::int32_t run, std::int32_t n) const noexcept {
    return run < fixed_count_ ? a_.fixed[run] : n;
  }

  NewtonArrays a_;
  NewtonOptions options_;
  double range_;
  double unit_;  // upper bound on the rounding error of sums over the row
  std::int32_t n_;
  std::int32_t fixed_count_ = 0;
  int iterations_ = 0;
};

constexpr bool NewtonRow::solve(bool has_start) noexcept {
  const Row row = {a_.x, a_.lam, n_};
  if (!has_start) find_start(row);
  start_at_target(row);
  return iterate(row, options_.iterations);
}

/// Starts from the result of one iteration on the row of pairs, which starts in the same way, and
/// so on down to two samples. A smooth row is then near its solution. From 0, edges would come free
/// one by one.
constexpr void NewtonRow::find_start(Row row) noexcept {
  const std::int32_t least = row.n > kNewtonShortRow ? 2 : row.n;
  double* x = a_.coarse_x;
  double* lam = a_.coarse_lam;
  int level = 0;
  while (row.n > least) {
    join_pairs(row, x, lam);
    row = {x, lam, samples(++level)};
    x += row.n;
    lam += row.n;
  }
  for (std::int32_t k = 0; k <= row.n; ++k) a_.target[k] = 0;
  while (level > 0) {
    start_at_target(row);
    iterate(row, level);
    const std::int32_t n = samples(--level);
    spread(n);
    if (level > 0) row = {row.x - n, row.lam - n, n};
  }
}

/// Computes the means of pairs, and the bounds of the edges between pairs: half of those in the row
/// itself.
constexpr void NewtonRow::join_pairs(const Row& row, double* x, double* lam) noexcept {
  const std::int32_t pairs = row.n / 2;
  for (std::int64_t k = 0; k < pairs; ++k) x[k] = (row.x[2 * k] + row.x[2 * k + 1]) / 2;
  if (2 * pairs < row.n) x[pairs] = row.x[row.n - 1];
  const std::int32_t edges = (row.n + 1) / 2 - 1;
  for (std::int32_t k = 0; k < edges; ++k) lam[k] = row.lam[2 * k + 1] / 2;
}

/// Turns the target of a row of pairs into that of the n samples themselves.
constexpr void NewtonRow::spread(std::int32_t n) noexcept {
  for (std::int64_t k = (n - 1) / 2; k > 0; --k) a_.target[2 * k] = 2 * a_.target[k];
  a_.target[n] = 0;
  for (std::int32_t k = 1; k < n; k += 2) {
    a_.target[k] = (a_.target[k - 1] + a_.target[k + 1]) / 2;
  }
}

constexpr void NewtonRow::start_at_target(const Row& row) noexcept {
  for (std::int32_t k = 0; k <= row.n; ++k) a_.u[k] = 0;
  a_.next[0] = 0;
  row.lam[row.n - 1] = 0;  // of u_n, so that it stays 0
  step(row, 1);
  take_step();
}

constexpr bool NewtonRow::iterate(const Row& row, int limit) noexcept {
  for (iterations_ = 1;; ++iterations_) {
    const Aim found = aim(row);
    const bool is_rounding = found.violation <= unit_ * range_;
    if (is_rounding || found.gap() <= options_.tol * found.objective()) return true;
    if (iterations_ == limit || !descend(row)) return false;
  }
}

/// Sets the target: the minimum of f with the fixed edges unchanged.
constexpr NewtonRow::Aim NewtonRow::aim(const Row& row) noexcept {
  Aim found;
  std::int32_t before = 0;
  std::int32_t first = 0;
  double left = 0;
  for (std::int32_t run = 0; run <= fixed_count_; ++run) {
    const std::int32_t last = run_end(run, row.n);
    const double right = aim_run(row, first, last, found);
    if (first > 0) {
      const double fall = left - right;
      const double cost = size(fall * a_.u[first]);
      found.jumps += cost;
      if (is_jump(-fall, a_.u[first])) {
        found.jumps_lost += 2 * cost;
        const double lengths[] = {static_cast<double>(first - before),
                                  static_cast<double>(last - first)};
        const double move = size(fall) * lengths[0] * lengths[1] / (lengths[0] + lengths[1]);
        found.violation = larger(found.violation, move - unit_ * size(a_.u[first]));
      }
    }
    before = first;
    first = last;
    left = right;
  }
  return found;
}

/// Sets the target of samples `first` up to `last`, between two fixed edges; returns y there.
constexpr double NewtonRow::aim_run(const Row& row, std::int32_t first, std::int32_t last,
                                    Aim& found) noexcept {
  const double* x = row.x;
  const double origin = x[first];
  const double length = last - first;
  const double borders = a_.u[first] - a_.u[last];
  double mean = (sum_around(x, first, last, origin, 0) + borders) / length;
  if (length > kNewtonRefinedLength) {
    mean += (sum_around(x, first, last, origin, mean) + borders) / length;
  }
  double at = a_.u[first];
  double beyond_before = 0;
  for (std::int32_t k = first + 1; k < last; ++k) {
    const double change = (x[k - 1] - origin) - mean;
    at += change;
    a_.target[k] = at;
    const double bound = row.lam[k - 1];
    const double beyond = at - clip(at, bound);
    const double lost = beyond - beyond_before;
    found.squares += change * change;
    found.squares_lost += lost * lost;
    found.violation = larger(found.violation, size(beyond) - unit_ * bound);
    beyond_before = beyond;
  }
  const double change = (x[last - 1] - origin) - mean;
  found.squares += change * change;
  found.squares_lost += beyond_before * beyond_before;
  a_.target[last] = a_.u[last];
  return origin + mean;
}

/// Steps towards the target as far as f decreases enough. If f does not decrease, stays and returns
/// false.
constexpr bool NewtonRow::descend(const Row& row) noexcept {
  const Descent whole = step(row, 1);
  const bool found = whole.is_enough() || (options_.halves ? halve(row) : interpolate(row, whole));
  if (!found) step(row, 0);  // find the edges that are fixed here again
  take_step();
  return found;
}

/// Computes `next`, a step of this length from u, and finds the edges that are fixed there.
constexpr NewtonRow::Descent NewtonRow::step(const Row& row, double length) noexcept {
  const double* u = a_.u;
  Descent descent;
  std::int32_t count = 0;
  double y_before = 0;       // of the sample before, now
  double y_next_before = 0;  // and after the step
  double move_before = 0;
  bool is_top = false;  // whether the edge before will be at a bound
  bool is_bottom = false;
  for (std::int32_t k = 1; k <= row.n; ++k) {
    const double sample = row.x[k - 1];
    const double to = towards_target(row, k, length);
    const double y = sample - (u[k] - u[k - 1]);
    const double y_next = sample - (to - a_.next[k - 1]);
    const double move = to - u[k];
    descent.slope += (y - y_before) * move_before;
    descent.curvature += (move - move_before) * (move - move_before);
    a_.fixed[count] = k - 1;
    count += static_cast<std::int32_t>((is_top & (y_next_before > y_next)) |
                                       (is_bottom & (y_next_before < y_next)));
    is_top = to == row.lam[k - 1];
    is_bottom = to == -row.lam[k - 1];
    a_.next[k] = to;
    y_before = y;
    y_next_before = y_next;
    move_before = move;
  }
  fixed_count_ = count;
  return descent;
}

constexpr void NewtonRow::take_step() noexcept {
  double* const u = a_.u;
  a_.u = a_.next;
  a_.next = u;
}

/// Steps to the minimum of the parabola through f at 0, its slope there, and f at the previous
/// step.
constexpr bool NewtonRow::interpolate(const Row& row, Descent descent) noexcept {
  double slope = 0;
  for (std::int32_t k = 1; k < row.n; ++k) {
    slope += gradient(row, k) * (a_.target[k] - a_.u[k]);
  }
  double length = 1;
  for (int trial = 1; trial < kNewtonTrials; ++trial) {
    const double least = slope * length * length / (2 * (slope * length - descent.change()));
    length = least < length / 10 ? length / 10 : least < length / 2 ? least : length / 2;
    descent = step(row, length);
    if (descent.is_enough()) return true;
  }
  return false;
}

/// Takes the longest sufficient step of 1/2, 1/4, ..., several of which are tried in one sweep.
constexpr bool NewtonRow::halve(const Row& row) noexcept {
  double longest = 0.5;
  for (int trial = 0; trial < kNewtonTrials; trial += kNewtonHalvings) {
    Descent descents[kNewtonHalvings];
    double moves_before[kNewtonHalvings] = {};
    for (std::int32_t k = 1; k <= row.n; ++k) {
      const double g = k < row.n ? gradient(row, k) : 0;
      double length = longest;
      for (int i = 0; i < kNewtonHalvings; ++i) {
        const double move = towards_target(row, k, length) - a_.u[k];
        descents[i].slope += g * move;
        descents[i].curvature += (move - moves_before[i]) * (move - moves_before[i]);
        moves_before[i] = move;
        length /= 2;
      }
    }
    for (const Descent& descent : descents) {
      if (descent.is_enough()) {
        step(row, longest);
        return true;
      }
      longest /= 2;
    }
  }
  return false;
}

/// Runs are separate segments where y jumps between them in the direction of their edge, and one
/// segment where it does not. This is decided by sums times lengths, which are exact for small
/// integers, unlike means.
constexpr void NewtonRow::store_codes(Code* codes) noexcept {
  double* sums = a_.next;  // of the segments so far
  std::int32_t borders = 0;
  std::int32_t first = 0;
  const auto start_of = [&](std::int32_t segment) {
    return segment == 0 ? 0 : a_.fixed[segment - 1];
  };
  for (std::int32_t run = 0; run <= fixed_count_; ++run) {
    const std::int32_t last = run_end(run, n_);
    double sum = a_.x[first] * (last - first) +
                 (sum_around(a_.x, first, last, a_.x[first], 0) + (a_.u[first] - a_.u[last]));
    for (; borders > 0; --borders) {
      const std::int32_t border = start_of(borders);
      const double fall =
          sums[borders - 1] * (last - border) - sum * (border - start_of(borders - 1));
      if (is_jump(fall, a_.u[border])) break;
      sum += sums[borders - 1];
    }
    sums[borders] = sum;
    if (last < n_) a_.fixed[borders++] = last;
    first = last;
  }
  for (std::int32_t j = 0; j < n_; ++j) codes[j] = Code::continues;
  codes[0] = Code::plain;
  for (std::int32_t i = 0; i < borders; ++i) {
    const std::int32_t border = a_.fixed[i];
    codes[border] = a_.u[border] > 0 ? Code::down : Code::up;
  }
}

}  // namespace tautstring::detail
