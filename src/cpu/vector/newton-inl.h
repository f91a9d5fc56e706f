// Projected Newton (step/newton_row.h) on several rows at once, a row a lane. Per-target.
//
// An iteration is two sweeps. Forwards: which edges stay at their bounds, and at each of these the
// mean of the samples since the one before. Backwards: what each dual variable is with that mean, a
// running sum from its segment's end, clipped at its bounds; and what this is worth. A lane that
// has converged stays as it is while others go on, so that nothing depends on them. One whose whole
// step does not decrease the objective enough is given up: single rows search for a shorter one.
#if defined(TAUTLINE_NEWTON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_NEWTON_INL_H_
#undef TAUTLINE_NEWTON_INL_H_
#else
#define TAUTLINE_NEWTON_INL_H_
#endif

#include <cstdint>
#include <limits>
#include <utility>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/newton_lanes.h"
#include "hwy/highway.h"
#include "step/newton_row.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::detail::HWY_NAMESPACE {

class NewtonSweeps {
 public:
  using D = hn::CappedTag<double, kMostNewtonLanes>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr std::int32_t kLanes = hn::MaxLanes(D());

  HWY_INLINE explicit NewtonSweeps(NewtonLanes& rows) noexcept
      : rows_(rows),
        level_{rows.n, rows.x, rows.lam, rows.u, rows.next},
        range_(hn::LoadU(D(), rows.range)),
        iterations_(hn::Zero(D())) {}

  HWY_INLINE void solve() noexcept {
    Level levels[kMostLevels] = {level_};
    int count = 1;
    const std::int32_t least = rows_.n > kNewtonShortRow ? 2 : rows_.n;
    for (; levels[count - 1].n > least; ++count) levels[count] = join_pairs(levels[count - 1]);
    level_ = levels[count - 1];
    for (std::int32_t k = 0; k < level_.n; ++k) put(level_.u, k, hn::Zero(D()));
    for (int level = count - 1; level > 0; --level) {
      iterate(level);
      level_ = spread(level_, levels[level - 1]);
    }
    iterate(rows_.iterations);
    rows_.u = level_.u;
    const hn::Rebind<std::int32_t, D> di;
    hn::StoreU(hn::DemoteTo(di, iterations_), di, rows_.done);
  }

 private:
  static constexpr int kMostLevels = 16;

  struct Level {
    std::int32_t n;
    double* x;
    double* lam;
    double* u;
    double* next;
  };
  /// What the target is worth.
  struct Worth {
    V gap;
    V objective;
    V slope;
    V bend;
    V violation;
  };

  static HWY_INLINE V at(const double* array, std::int32_t k) noexcept {
    return hn::LoadU(D(), array + std::int64_t{k} * kLanes);
  }
  static HWY_INLINE void put(double* array, std::int32_t k, V value) noexcept {
    hn::StoreU(value, D(), array + std::int64_t{k} * kLanes);
  }
  static HWY_INLINE V clipped(V value, V bound) noexcept {
    return hn::Max(hn::Min(value, bound), hn::Neg(bound));
  }
  static HWY_INLINE V half(V value) noexcept { return hn::Mul(value, hn::Set(D(), 0.5)); }

  // --- Rows of pairs ---

  /// Means of pairs, and the bounds of the edges between pairs, which hold twice as much.
  static HWY_INLINE Level join_pairs(const Level& row) noexcept {
    const std::int64_t own = std::int64_t{row.n} * kLanes;
    const Level pairs = {(row.n + 1) / 2, row.x + own, row.lam + own, row.u + own, row.next + own};
    for (std::int32_t k = 0; k < pairs.n; ++k) {
      const std::int32_t second = 2 * k + 1;
      const bool is_pair = second < row.n;
      const V first = at(row.x, 2 * k);
      put(pairs.x, k, is_pair ? half(hn::Add(first, at(row.x, second))) : first);
      put(pairs.lam, k, is_pair ? half(at(row.lam, second)) : hn::Zero(D()));
    }
    return pairs;
  }

  /// From where the iterations on pairs lead to where the row itself starts.
  static HWY_INLINE Level spread(const Level& pairs, const Level& row) noexcept {
    const auto between = [&](std::int32_t edge) {  // two pairs; 0 outside
      const bool is_edge = edge >= 0 && edge < row.n - 1;
      if (!is_edge) return hn::Zero(D());
      const V u = at(pairs.next, edge / 2);
      return hn::Add(u, u);
    };
    V left = hn::Zero(D());
    for (std::int32_t k = 0; k < row.n; k += 2) {
      const V right = between(k + 1);
      put(row.u, k, clipped(half(hn::Add(left, right)), at(row.lam, k)));
      if (k + 1 < row.n) put(row.u, k + 1, clipped(right, at(row.lam, k + 1)));
      left = right;
    }
    return row;
  }

  // --- Iterations ---

  HWY_INLINE void iterate(int limit) noexcept {
    const D d;
    // Sums of so many samples are no better.
    const V rounding =
        hn::Mul(range_, hn::Set(d, std::numeric_limits<double>::epsilon() * (level_.n + 4)));
    const V tol = hn::Set(d, rows_.tol);
    const V enough = hn::Set(d, kNewtonEnough);
    M is_over = hn::Gt(hn::Zero(d), hn::Zero(d));
    iterations_ = hn::Zero(d);
    for (int iteration = 1; iteration <= limit; ++iteration) {
      find_means();
      const Worth worth = aim();
      const M is_near = hn::Or(hn::Le(worth.gap, hn::Mul(tol, worth.objective)),
                               hn::Le(worth.violation, rounding));
      const V gain = hn::Add(worth.slope, half(worth.bend));
      const M descends =
          hn::And(hn::Lt(gain, hn::Zero(d)), hn::Le(gain, hn::Mul(enough, worth.slope)));
      const M is_new = hn::AndNot(is_over, is_near);
      iterations_ = hn::IfThenElse(is_new, hn::Set(d, iteration), iterations_);
      is_over = hn::Or(is_over, hn::Or(is_near, hn::Not(descends)));
      if (hn::AllTrue(d, is_over) || iteration == limit) return;
      std::swap(level_.u, level_.next);
      keep(is_over);
    }
  }

  /// Lanes that are over stay where they were.
  HWY_INLINE void keep(M is_over) noexcept {
    if (hn::AllFalse(D(), is_over)) return;
    for (std::int32_t k = 0; k < level_.n; ++k) {
      put(level_.u, k, hn::IfThenElse(is_over, at(level_.next, k), at(level_.u, k)));
    }
  }

  HWY_INLINE void find_means() noexcept {
    const D d;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1);
    V u = at(level_.u, 0);
    V y = hn::Sub(at(level_.x, 0), u);
    V sum = zero;
    V length = zero;
    V u_left = zero;
    for (std::int32_t k = 0; k < level_.n; ++k) {
      const bool is_last = k + 1 == level_.n;
      const V u_behind = is_last ? zero : at(level_.u, k + 1);
      const V y_behind = is_last ? y : hn::Sub(at(level_.x, k + 1), hn::Sub(u_behind, u));
      const V rise = hn::Sub(y_behind, y);
      const V lam = at(level_.lam, k);
      const M stays = hn::Or(hn::And(hn::Ge(u, lam), hn::Lt(rise, zero)),
                             hn::And(hn::Le(u, hn::Neg(lam)), hn::Gt(rise, zero)));
      const M is_fixed = is_last ? hn::Eq(zero, zero) : stays;
      sum = hn::Add(sum, at(level_.x, k));
      length = hn::Add(length, one);
      put(rows_.mean, k, hn::Div(hn::Add(sum, hn::Sub(u_left, u)), length));
      put(rows_.rise, k, rise);
      rows_.fixed[k] = static_cast<std::uint8_t>(mask_bits(d, is_fixed));
      sum = hn::IfThenZeroElse(is_fixed, sum);
      length = hn::IfThenZeroElse(is_fixed, length);
      u_left = hn::IfThenElse(is_fixed, u, u_left);
      u = u_behind;
      y = y_behind;
    }
  }

  HWY_INLINE Worth aim() noexcept {
    const D d;
    const V zero = hn::Zero(d);
    Worth worth = {zero, zero, zero, zero, zero};
    V mean = zero;    // of the segment of the sample behind
    V target = zero;  // for u
    V excess = zero;
    V change = zero;
    V length = zero;  // of the segment behind, as far as it has been seen
    for (std::int32_t k = level_.n - 1; k >= 0; --k) {
      const M is_fixed = hn::LoadMaskBits(d, rows_.fixed + k);
      const V u = at(level_.u, k);
      const V lam = at(level_.lam, k);
      const V own_mean = at(rows_.mean, k);
      const V jump = hn::Sub(mean, own_mean);
      const V cost = hn::IfThenElseZero(is_fixed, hn::Mul(lam, hn::Abs(jump)));
      // At its bound u has the sign of a fall.
      const M is_wrong =
          hn::And(hn::And(is_fixed, hn::Gt(lam, zero)), hn::Ge(hn::Mul(jump, u), zero));
      worth.objective = hn::Add(worth.objective, cost);
      worth.gap = hn::Add(worth.gap, hn::IfThenElseZero(is_wrong, hn::Add(cost, cost)));
      worth.violation =
          hn::Max(worth.violation, hn::IfThenElseZero(is_wrong, hn::Mul(hn::Abs(jump), length)));
      mean = hn::IfThenElse(is_fixed, own_mean, mean);
      target = hn::IfThenElse(is_fixed, u, target);
      length = hn::IfThenZeroElse(is_fixed, length);

      const V next = clipped(target, lam);
      const V excess_behind = std::exchange(excess, hn::Sub(next, target));
      const V change_behind = std::exchange(change, hn::Sub(next, u));
      const V lost = hn::Sub(excess, excess_behind);
      const V moved = hn::Sub(change, change_behind);
      worth.gap = hn::MulAdd(half(lost), lost, worth.gap);
      worth.bend = hn::MulAdd(moved, moved, worth.bend);
      worth.slope = hn::MulAdd(at(rows_.rise, k), change, worth.slope);
      worth.violation = hn::Max(worth.violation, hn::Abs(excess));
      put(level_.next, k, next);
      const V left = hn::Sub(at(level_.x, k), mean);
      worth.objective = hn::MulAdd(half(left), left, worth.objective);
      target = hn::Sub(target, left);
      length = hn::Add(length, hn::Set(d, 1));
    }
    worth.gap = hn::MulAdd(half(excess), excess, worth.gap);
    worth.bend = hn::MulAdd(change, change, worth.bend);
    return worth;
  }

  NewtonLanes& rows_;
  Level level_;
  const V range_;
  V iterations_;
};

/// Lanes of `newton_in_lanes`.
inline constexpr std::int32_t kNewtonLanes = NewtonSweeps::kLanes;

inline void newton_in_lanes(NewtonLanes& rows) noexcept {
  NewtonSweeps(rows).solve();
}

}  // namespace tautline::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
