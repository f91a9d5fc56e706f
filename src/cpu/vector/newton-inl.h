// Projected Newton (step/newton_row.h) on several rows at once, one row per lane. Per-target.
//
// An iteration is two sweeps. The forward sweep finds the edges that stay at their bounds and, at
// each of them, the mean of the samples since the previous one. The backward sweep computes each
// dual variable from that mean, as a running sum from the end of its segment, clipped at its
// bounds, and evaluates the result. A lane that has converged keeps its edges while others
// continue, so that its result does not depend on them. A lane whose full step does not decrease
// the objective enough is given up: its row is then solved alone, with a search for a shorter step.
#if defined(TAUTSTRING_NEWTON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_NEWTON_INL_H_
#undef TAUTSTRING_NEWTON_INL_H_
#else
#define TAUTSTRING_NEWTON_INL_H_
#endif

#include <cstdint>
#include <limits>
#include <utility>

#include "cpu/vector/newton_finish-inl.h"
#include "cpu/vector/newton_vectors-inl.h"
#include "hwy/highway.h"
#include "step/newton_row.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// Lams is RowLams or EdgeLams; kByGap: rows may end by their gap.
template <class Lams, bool kByGap>
class NewtonSweeps : NewtonVectors {
 public:
  HWY_INLINE NewtonSweeps(NewtonLanes& rows, Lams lams) noexcept
      : rows_(rows),
        level_{rows.n, rows.x, lams},
        range_(hn::LoadU(D(), rows.range)),
        iterations_(hn::Zero(D())),
        is_over_(hn::MaskFromVec(hn::Zero(D()))),
        is_wrong_(is_over_) {}

  HWY_INLINE void solve() noexcept {
    Level levels[kMostLevels] = {level_};
    int count = 1;
    const std::int32_t least = rows_.n > kNewtonShortRow ? 2 : rows_.n;
    for (; levels[count - 1].n > least; ++count) levels[count] = join_pairs(levels[count - 1]);
    level_ = levels[count - 1];
    for (std::int32_t k = -1; k < level_.n; ++k) put(rows_.u, k, hn::Zero(D()));
    for (int level = count - 1; level > 0; --level) {
      iterate(level);
      level_ = levels[level - 1];
      spread_pairs();
    }
    iterate(rows_.iterations);
    finish();
  }

 private:
  static constexpr int kMostLevels = 16;

  struct Level {
    std::int32_t n;
    double* x;
    Lams lams;
  };
  /// How good the target is.
  struct Worth {
    V gap;
    V objective;
    V slope;
    V bend;
    V violation;
  };

  // --- Rows of pairs ---

  /// Computes the means of pairs, and the bounds of the edges between pairs: half of those in the
  /// row itself.
  static HWY_INLINE Level join_pairs(const Level& row) noexcept {
    const Level pairs = {(row.n + 1) / 2, row.x + std::int64_t{row.n} * kLanes,
                         row.lams.of_pairs(row.n)};
    for (std::int32_t k = 0; k < row.n / 2; ++k) {
      put(pairs.x, k, half(hn::Add(at(row.x, 2 * k), at(row.x, 2 * k + 1))));
    }
    if (row.n % 2 != 0) put(pairs.x, pairs.n - 1, at(row.x, row.n - 1));
    return pairs;
  }

  /// Turns the result of the iterations on pairs into the start of the row itself, in place.
  HWY_INLINE void spread_pairs() noexcept {
    const std::int32_t pairs = (level_.n + 1) / 2;
    V right = hn::Zero(D());
    for (std::int32_t k = pairs - 1; k >= 0; --k) {
      const V before = at(rows_.u, k - 1);
      const V left = hn::Add(before, before);
      put(rows_.u, 2 * k + 1, clipped(right, level_.lams.at(2 * k + 1)));
      put(rows_.u, 2 * k, clipped(half(hn::Add(left, right)), level_.lams.at(2 * k)));
      right = left;
    }
    put(rows_.u, level_.n - 1, hn::Zero(D()));
  }

  // --- Iterations ---

  HWY_INLINE void iterate(int limit) noexcept {
    const D d;
    // The rounding error of sums of this many samples.
    const V rounding =
        hn::Mul(range_, hn::Set(d, std::numeric_limits<double>::epsilon() * (level_.n + 4)));
    const V tol = hn::Set(d, rows_.tol);
    const V enough = hn::Set(d, kNewtonEnough);
    is_over_ = hn::MaskFromVec(hn::Zero(d));
    iterations_ = hn::Zero(d);
    for (int iteration = 1; iteration <= limit; ++iteration) {
      find_means();
      const Worth worth = aim();
      M is_near = hn::Le(worth.violation, rounding);
      if constexpr (kByGap) {
        is_near = hn::Or(is_near, hn::Le(worth.gap, hn::Mul(tol, worth.objective)));
      }
      const V gain = hn::Add(worth.slope, half(worth.bend));
      const M descends =
          hn::And(hn::Lt(gain, hn::Zero(d)), hn::Le(gain, hn::Mul(enough, worth.slope)));
      const M is_new = hn::AndNot(is_over_, is_near);
      iterations_ = hn::IfThenElse(is_new, hn::Set(d, iteration), iterations_);
      is_over_ = hn::Or(is_over_, hn::Or(is_near, hn::Not(descends)));
      if (hn::AllTrue(d, is_over_)) return;
    }
  }

  /// Stores the mean of each segment at its last sample. Lanes that are done keep their segments.
  HWY_INLINE void find_means() noexcept {
    const D d;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1);
    const bool some_are_over = !hn::AllFalse(d, is_over_);
    V x = at(level_.x, 0);
    V u = at(rows_.u, 0);
    V y = hn::Sub(x, u);
    V sum = zero;
    V length = zero;
    V u_left = zero;
    for (std::int32_t k = 0;; ++k) {
      sum = hn::Add(sum, x);
      length = hn::Add(length, one);
      put(rows_.values, k, hn::Div(hn::Add(sum, hn::Sub(u_left, u)), length));
      if (k + 1 == level_.n) return;
      const V u_behind = at(rows_.u, k + 1);
      x = at(level_.x, k + 1);
      const V y_behind = hn::Sub(x, hn::Sub(u_behind, u));
      const V rise = hn::Sub(y_behind, y);
      const V lam = level_.lams.at(k);
      // By a product: where it underflows to 0, with bounds of 1e-300, rows are given up.
      M is_fixed = hn::And(hn::Ge(hn::Abs(u), lam), hn::Lt(hn::Mul(rise, u), zero));
      if (some_are_over) {
        is_fixed = hn::Or(hn::AndNot(is_over_, is_fixed), hn::And(is_over_, at(rows_.fixed, k)));
      }
      put(rows_.fixed, k, is_fixed);
      sum = hn::IfThenZeroElse(is_fixed, sum);
      length = hn::IfThenZeroElse(is_fixed, length);
      u_left = hn::IfThenElse(is_fixed, u, u_left);
      u = u_behind;
      y = y_behind;
    }
  }

  /// Moves u to its target, clipped to its bounds.
  HWY_INLINE Worth aim() noexcept {
    const D d;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, 1);
    Worth worth = {zero, zero, zero, zero, zero};
    is_wrong_ = hn::MaskFromVec(zero);
    V mean = at(rows_.values, level_.n - 1);
    V target = zero;  // for u
    V excess = zero;  // by which it is clipped
    V change = zero;
    V length = zero;  // of the segment so far
    V u = zero;
    V y_behind = zero;
    for (std::int32_t k = level_.n - 1;; --k) {
      const V x = at(level_.x, k);
      const V u_before = at(rows_.u, k - 1);
      const V y = hn::Sub(x, hn::Sub(u, u_before));
      const V left = hn::Sub(x, mean);
      worth.slope = hn::MulAdd(hn::Sub(std::exchange(y_behind, y), y), change, worth.slope);
      if constexpr (kByGap) worth.objective = hn::MulAdd(half(left), left, worth.objective);
      target = hn::Sub(target, left);
      length = hn::Add(length, one);
      if (k == 0) break;

      const M is_fixed = at(rows_.fixed, k - 1);
      const V lam = level_.lams.at(k - 1);
      const V own_mean = at(rows_.values, k - 1);
      const V jump = hn::Sub(mean, own_mean);
      const M is_wrong = hn::And(is_fixed, is_made_up(jump, u_before));
      is_wrong_ = hn::Or(is_wrong_, is_wrong);
      const V move = hn::Mul(jump, length);
      if constexpr (kByGap) {
        const V cost = hn::IfThenElseZero(is_fixed, hn::Mul(lam, hn::Abs(jump)));
        worth.objective = hn::Add(worth.objective, cost);
        worth.gap = hn::Add(worth.gap, hn::IfThenElseZero(is_wrong, hn::Add(cost, cost)));
      }
      mean = hn::IfThenElse(is_fixed, own_mean, mean);
      target = hn::IfThenElse(is_fixed, u_before, target);
      length = hn::IfThenZeroElse(is_fixed, length);

      const V next = clipped(target, lam);
      const V excess_behind = std::exchange(excess, hn::Sub(next, target));
      const V change_behind = std::exchange(change, hn::Sub(next, u_before));
      const V moved = hn::Sub(change, change_behind);
      worth.bend = hn::MulAdd(moved, moved, worth.bend);
      if constexpr (kByGap) {
        const V lost = hn::Sub(excess, excess_behind);
        worth.gap = hn::MulAdd(half(lost), lost, worth.gap);
      }
      // A fixed edge has no excess.
      worth.violation = hn::Max(worth.violation, hn::Abs(hn::IfThenElse(is_wrong, move, excess)));
      put(rows_.u, k - 1, hn::IfThenElse(is_over_, u_before, next));
      u = u_before;
    }
    worth.bend = hn::MulAdd(change, change, worth.bend);
    if constexpr (kByGap) worth.gap = hn::MulAdd(half(excess), excess, worth.gap);
    return worth;
  }

  // --- The result ---

  HWY_INLINE void finish() noexcept {
    const D d;
    M is_done = hn::And(hn::Gt(iterations_, hn::Zero(d)), hn::LoadMaskBits(d, &rows_.taken));
    if (!hn::AllFalse(d, hn::And(is_wrong_, is_done))) drop_made_up();
    is_done = hn::AndNot(NewtonFinish<Lams>(rows_, level_.lams).finish(), is_done);
    if constexpr (kByGap) {  // the targets were within the tolerance: check the results, too
      const V most = hn::Mul(hn::Set(d, rows_.tol), hn::LoadU(d, rows_.objective));
      is_done = hn::And(is_done, hn::Le(hn::LoadU(d, rows_.gap), most));
    }
    const hn::Rebind<std::int32_t, D> di;
    hn::StoreU(hn::DemoteTo(di, hn::IfThenElseZero(is_done, iterations_)), di, rows_.done);
  }

  /// Frees edges at a bound where the means do not jump in its direction: rounding put them there.
  /// The means of small integers are rounded once, so that ties are equal.
  HWY_INLINE void drop_made_up() noexcept {
    V mean = at(rows_.values, rows_.n - 1);
    for (std::int32_t k = rows_.n - 2; k >= 0; --k) {
      const M is_fixed = at(rows_.fixed, k);
      const V own_mean = at(rows_.values, k);
      put(rows_.fixed, k,
          hn::AndNot(is_made_up(hn::Sub(mean, own_mean), at(rows_.u, k)), is_fixed));
      mean = hn::IfThenElse(is_fixed, own_mean, mean);
    }
  }

  NewtonLanes& rows_;
  Level level_;
  const V range_;
  V iterations_;
  M is_over_;   // lanes that no longer iterate
  M is_wrong_;  // lanes with an edge that is fixed at the wrong bound
};

/// Lanes of `newton_in_lanes`.
inline constexpr std::int32_t kNewtonLanes = NewtonVectors::kLanes;

template <class Lams>
HWY_INLINE void newton_with(NewtonLanes& rows, Lams lams) noexcept {
  if (rows.tol > 0) {
    NewtonSweeps<Lams, true>(rows, lams).solve();
  } else {
    NewtonSweeps<Lams, false>(rows, lams).solve();
  }
}

inline void newton_in_lanes(NewtonLanes& rows) noexcept {
  scale_lanes(rows);
  if (rows.edge_lam != nullptr) {
    newton_with(rows, EdgeLams{rows.edge_lam});
  } else {
    newton_with(rows, RowLams{hn::LoadU(NewtonVectors::D(), rows.lam)});
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
