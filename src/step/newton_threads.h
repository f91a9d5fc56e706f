// Projected Newton on the dual of one row (tautline/newton1d.h) by threads that hold it together,
// each some samples one behind the other: on a device those of a block, in tests those of a
// processor.
//
// The Newton system of the edges that are not at a bound falls into runs of them, and the solution
// of each is known: it makes y constant over the run's samples, at their mean. So an iteration is
// sums over segments that reach across threads, and no elimination.
//
// Knows threads only through `Threads`: thread(), count(), and what all of them call together:
// sync(), before(value), behind(value), sum(values), largest(value), open_before(segment),
// next(has_value, value).
#pragma once

#include <cstdint>
#include <limits>

#include "step/host_device.h"
#include "step/newton_row.h"

namespace tautline::detail {

/// What a thread knows of the segment that is open behind its last sample.
struct OpenSegment {
  bool is_own;  // it starts in the thread
  std::int32_t start;
  double sum;  // of its samples so far
  double u;    // of the edge before it

  /// Of this one's samples and then those of `right`.
  [[nodiscard]] constexpr OpenSegment joined(const OpenSegment& right) const noexcept {
    if (right.is_own) return right;
    return {is_own, start, sum + right.sum, u};
  }
};

/// Rows of more samples start from the same row in pairs. To threads its iterations are as long as
/// the row's own, so that shorter rows do better from 0.
inline constexpr std::int32_t kNewtonThreadsShortRow = 128;
/// Iterations on a row of pairs: it need only be near.
inline constexpr int kNewtonIterationsOfPairs = 12;
/// Iterations that may follow one whose gap is small enough, for jumps that rounding made up.
inline constexpr int kNewtonCleanings = 2;

[[nodiscard]] constexpr int newton_levels(std::int32_t n, bool has_start) noexcept {
  int levels = 1;
  for (; n > kNewtonThreadsShortRow && !has_start; n = (n + 1) / 2) ++levels;
  return levels;
}
/// Samples of a row and of all rows of pairs that it starts from.
[[nodiscard]] constexpr std::int32_t newton_samples(std::int32_t n, int levels) noexcept {
  std::int32_t all = n;
  for (int level = 1; level < levels; ++level) all += n = (n + 1) / 2;
  return all;
}

/// Room for newton_samples each, the row's own first.
struct NewtonMemory {
  double* x;       // given for the row: not far from 0
  double* u;       // of the edge behind each sample; given where there is a start
  double* lam;     // likewise, > 0; null: `row_lam` for all
  double row_lam;  // > 0
  double range;    // how far samples are apart
};

/// How it ended. The gap is that of the means and the clipped target of the last iteration.
struct NewtonOutcome {
  int iterations;
  bool converged;
  double gap;
};

template <class Threads, int kItems>
class NewtonThreads {
 public:
  TAUTLINE_HOST_DEVICE NewtonThreads(const Threads& threads, const NewtonMemory& memory,
                                     std::int32_t n) noexcept
      : threads_(threads),
        row_({n, memory.x, memory.u, memory.lam, memory.row_lam}),
        range_(memory.range) {}

  TAUTLINE_HOST_DEVICE NewtonOutcome solve(const NewtonOptions& options, bool has_start) noexcept {
    const int levels = newton_levels(row_.n, has_start);
    threads_.sync();
    Level level = row_;
    for (int l = 1; l < levels; ++l) level = make_pairs(level);
    NewtonOutcome outcome = {};
    for (int l = levels - 1; l >= 0; --l) {
      const Level pairs = level;
      level = row_;
      for (int finer = 0; finer < l; ++finer) level = pairs_of(level);
      enter(level);
      if (l < levels - 1) {
        start_from(pairs);
      } else {
        start(has_start);
      }
      outcome = iterate(l == 0 ? options.iterations : kNewtonIterationsOfPairs, options);
      if (l > 0) store_dual();
    }
    return outcome;
  }

  /// Calls use(i, mean, u, jump) for the thread's samples: the value of its segment, and of the
  /// edge behind it the dual variable and the sign of the jump, 0 where there is none.
  template <class Use>
  TAUTLINE_HOST_DEVICE void for_each_result(const Use& use) const noexcept {
    for_each([&](int i) {
      if (index(i) < level_.n) use(index(i), mean_[i], clipped(i, target_[i]), jump_sign(i));
    });
  }

 private:
  static_assert(kItems <= 32);  // bits of a mask

  struct Level {
    std::int32_t n;
    double* x;
    double* u;
    double* lam;
    double row_lam;
  };

  /// What the last target is worth, and the whole step to it.
  enum Sum { kGap, kObjective, kSlope, kBend, kMadeUp, kSums };

  // --- Rows of pairs ---

  [[nodiscard]] static TAUTLINE_HOST_DEVICE Level pairs_of(const Level& level) noexcept {
    const std::int32_t n = level.n;
    return {(n + 1) / 2, level.x + n, level.u + n, level.lam == nullptr ? nullptr : level.lam + n,
            level.row_lam / 2};
  }

  /// The mean of each pair; an edge between two pairs carries twice what it would carry there.
  TAUTLINE_HOST_DEVICE Level make_pairs(const Level& level) noexcept {
    const Level pairs = pairs_of(level);
    for (std::int32_t k = threads_.thread(); k < pairs.n; k += threads_.count()) {
      const std::int32_t second = 2 * k + 1;
      const bool is_pair = second < level.n;
      pairs.x[k] = is_pair ? (level.x[second - 1] + level.x[second]) / 2 : level.x[second - 1];
      if (level.lam != nullptr) pairs.lam[k] = second < level.n - 1 ? level.lam[second] / 2 : 0;
    }
    threads_.sync();
    return pairs;
  }

  TAUTLINE_HOST_DEVICE void start_from(const Level& pairs) noexcept {
    const auto between = [&](std::int32_t edge) {  // two pairs; 0 outside
      return edge < 0 || edge >= level_.n - 1 ? 0 : 2 * pairs.u[edge / 2];
    };
    for_each([&](int i) {
      const std::int32_t edge = index(i);
      const double u = edge % 2 == 1 ? between(edge) : (between(edge - 1) + between(edge + 1)) / 2;
      u_[i] = clipped(i, u);
    });
  }
  TAUTLINE_HOST_DEVICE void start(bool is_given) noexcept {
    for_each([&](int i) {
      u_[i] = is_given && index(i) < level_.n - 1 ? clipped(i, level_.u[index(i)]) : 0;
    });
  }
  TAUTLINE_HOST_DEVICE void store_dual() noexcept {
    for_each([&](int i) {
      if (index(i) < level_.n) level_.u[index(i)] = clipped(i, target_[i]);
    });
    threads_.sync();
  }

  // --- The thread's part of a level ---

  TAUTLINE_HOST_DEVICE void enter(const Level& level) noexcept {
    level_ = level;
    items_ = (level.n + threads_.count() - 1) / threads_.count();
    first_ = threads_.thread() * items_;
    for_each([&](int i) { x_[i] = index(i) < level.n ? level.x[index(i)] : 0; });
  }
  template <class Use>
  TAUTLINE_HOST_DEVICE void for_each(const Use& use) const noexcept {
    TAUTLINE_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (i < items_) use(i);
    }
  }
  [[nodiscard]] constexpr std::int32_t index(int i) const noexcept { return first_ + i; }
  /// 0 behind the row's last sample, and beyond.
  [[nodiscard]] TAUTLINE_HOST_DEVICE double lam(int i) const noexcept {
    if (index(i) >= level_.n - 1) return 0;
    return level_.lam != nullptr ? level_.lam[index(i)] : level_.row_lam;
  }
  [[nodiscard]] TAUTLINE_HOST_DEVICE double clipped(int i, double u) const noexcept {
    const double most = lam(i);
    if (u > most) return most;
    return u < -most ? -most : u;
  }
  [[nodiscard]] constexpr bool is_fixed(int i) const noexcept { return (fixed_ >> i & 1U) != 0; }
  /// Of the target; a jump against what its bound asks for is none.
  [[nodiscard]] TAUTLINE_HOST_DEVICE int jump_sign(int i) const noexcept {
    if (!is_fixed(i) || index(i) >= level_.n - 1 || (made_up_ >> i & 1U) != 0) return 0;
    return u_[i] > 0 ? -1 : 1;
  }

  // --- Iterations ---

  TAUTLINE_HOST_DEVICE NewtonOutcome iterate(int limit, const NewtonOptions& options) noexcept {
    // Sums of so many samples are no better.
    const double rounding = std::numeric_limits<double>::epsilon() * range_ * (level_.n + 4);
    int cleanings = 0;
    for (int iteration = 1;; ++iteration) {
      find_fixed();
      find_target();
      double sums[kSums];
      const double violation = look_at_target(sums);
      const bool is_near = sums[kGap] <= options.tol * sums[kObjective] || violation <= rounding;
      const bool is_clean = sums[kMadeUp] == 0 || (is_near && cleanings++ == kNewtonCleanings);
      if ((is_near && is_clean) || iteration >= limit || !step(sums, options.halves)) {
        if (sums[kMadeUp] != 0) {
          fixed_ &= ~made_up_;
          find_target();
          look_at_target(sums);
        }
        return {iteration, is_near, sums[kGap]};
      }
    }
  }

  /// Edges that stay at their bounds.
  TAUTLINE_HOST_DEVICE void find_fixed() noexcept {
    const double u_left = threads_.before(last_of(u_));
    double y[kItems] = {};
    for_each([&](int i) { y[i] = x_[i] - (u_[i] - (i > 0 ? u_[i - 1] : u_left)); });
    const double y_behind = threads_.behind(y[0]);
    fixed_ = 0;
    for_each([&](int i) {
      rise_[i] = (i + 1 < items_ ? y[i + 1] : y_behind) - y[i];
      const double most = lam(i);
      const bool stays = (u_[i] >= most && rise_[i] < 0) || (u_[i] <= -most && rise_[i] > 0);
      if (stays || index(i) >= level_.n - 1) fixed_ |= 1U << i;
    });
  }

  /// Means of the segments between these, and what u would be with them.
  TAUTLINE_HOST_DEVICE void find_target() noexcept {
    OpenSegment own = {false, 0, 0, 0};
    for_each([&](int i) {
      own.sum += x_[i];
      if (is_fixed(i)) own = {true, index(i) + 1, 0, u_[i]};
    });
    const OpenSegment before = threads_.open_before(own);
    start_before_ = before.start;
    OpenSegment open = before;
    double first_mean = 0;
    for_each([&](int i) {
      open.sum += x_[i];
      target_[i] = open.u + open.sum;  // less the mean of each sample
      if (!is_fixed(i)) return;
      mean_[i] = (open.sum + (open.u - u_[i])) / (index(i) - open.start + 1);
      if ((fixed_ & ((1U << i) - 1)) == 0) first_mean = mean_[i];
      open = {true, index(i) + 1, 0, u_[i]};
    });
    double mean = threads_.next(fixed_ != 0, first_mean);
    TAUTLINE_UNROLL
    for (int i = kItems - 1; i >= 0; --i) {
      if (i >= items_) continue;
      mean = is_fixed(i) ? mean_[i] : mean;
      mean_[i] = mean;
    }
    std::int32_t start = start_before_;
    for_each([&](int i) {
      if (is_fixed(i)) {
        target_[i] = u_[i];
        start = index(i) + 1;
      } else {
        target_[i] -= mean_[i] * (index(i) - start + 1);
      }
    });
  }

  /// Returns how far a dual variable is beyond its bound, or would have to leave it, at most.
  TAUTLINE_HOST_DEVICE double look_at_target(double (&sums)[kSums]) noexcept {
    const double mean_behind = threads_.behind(mean_[0]);
    double excess = threads_.before(clipped_last() - last_of(target_));
    double change = threads_.before(clipped_last() - last_of(u_));
    for (double& sum : sums) sum = 0;
    made_up_ = 0;
    double violation = 0;
    const auto violate = [&](double by) { violation = by > violation ? by : violation; };
    std::int32_t start = start_before_;
    for_each([&](int i) {
      const double next = clipped(i, target_[i]);
      const double excess_before = excess;
      const double change_before = change;
      excess = next - target_[i];
      change = next - u_[i];
      violate(excess < 0 ? -excess : excess);
      sums[kGap] += (excess - excess_before) * (excess - excess_before) / 2;
      sums[kSlope] += rise_[i] * change;
      sums[kBend] += (change - change_before) * (change - change_before);
      sums[kObjective] += (x_[i] - mean_[i]) * (x_[i] - mean_[i]) / 2;
      if (!is_fixed(i)) return;
      const std::int32_t length = index(i) + 1 - start;
      start = index(i) + 1;
      const double most = lam(i);
      if (most == 0) return;  // the row's end
      const double jump = (i + 1 < items_ ? mean_[i + 1] : mean_behind) - mean_[i];
      const double size = jump < 0 ? -jump : jump;
      sums[kObjective] += most * size;
      if (u_[i] > 0 ? jump < 0 : jump > 0) return;
      sums[kGap] += 2 * most * size;
      sums[kMadeUp] += 1;
      violate(size * length);
      made_up_ |= 1U << i;
    });
    threads_.sum(sums);
    return threads_.largest(violation);
  }

  /// Goes towards the target as far as the objective falls enough; false: nowhere.
  TAUTLINE_HOST_DEVICE bool step(const double (&sums)[kSums], bool halves) noexcept {
    const auto gains = [](double slope, double bend) {
      return slope < 0 && slope + bend / 2 <= kNewtonEnough * slope;
    };
    if (gains(sums[kSlope], sums[kBend])) return go(1);
    double size = 1;
    double slope = sums[kSlope];
    double bend = sums[kBend];
    const double slope_at_zero = slope_of_direction();
    for (int trial = 0; trial < kNewtonTrials; trial += halves ? kNewtonHalvings : 1) {
      double sizes[kNewtonHalvings];
      size = halves ? size / 2 : least_of_parabola(size, slope + bend / 2, slope_at_zero);
      for (double& each : sizes) {
        each = size;
        if (halves) size /= 2;
      }
      double found[2 * kNewtonHalvings];
      look_at_steps(sizes, halves ? kNewtonHalvings : 1, found);
      for (int s = 0; s < (halves ? kNewtonHalvings : 1); ++s) {
        slope = found[2 * s];
        bend = found[2 * s + 1];
        if (gains(slope, bend)) return go(sizes[s]);
      }
      size = sizes[halves ? kNewtonHalvings - 1 : 0];
    }
    return false;
  }

  /// Where a parabola through 0, with this slope there, and `gained` at `size` is least, but not
  /// far from halfway.
  [[nodiscard]] static constexpr double least_of_parabola(double size, double gained,
                                                          double slope) noexcept {
    const double least = -slope * size * size / (2 * (gained - slope * size));
    if (!(least > size / 10)) return size / 10;
    return least < size / 2 ? least : size / 2;
  }

  [[nodiscard]] TAUTLINE_HOST_DEVICE double slope_of_direction() noexcept {
    double slope[1] = {0};
    for_each([&](int i) { slope[0] += rise_[i] * (target_[i] - u_[i]); });
    threads_.sum(slope);
    return slope[0];
  }

  /// A step from u.
  [[nodiscard]] TAUTLINE_HOST_DEVICE double reached(int i, double size) const noexcept {
    return clipped(i, size == 1 ? target_[i] : u_[i] + size * (target_[i] - u_[i]));
  }
  [[nodiscard]] TAUTLINE_HOST_DEVICE double changed(int i, double size) const noexcept {
    return reached(i, size) - u_[i];
  }
  /// Slope and bend of each.
  TAUTLINE_HOST_DEVICE void look_at_steps(const double (&sizes)[kNewtonHalvings], int count,
                                          double (&found)[2 * kNewtonHalvings]) noexcept {
    TAUTLINE_UNROLL
    for (int s = 0; s < kNewtonHalvings; ++s) {
      if (s >= count) break;
      double sums[2] = {0, 0};
      double own = 0;
      for_each([&](int i) { own = changed(i, sizes[s]); });
      double change = threads_.before(own);
      for_each([&](int i) {
        const double before = change;
        change = changed(i, sizes[s]);
        sums[0] += rise_[i] * change;
        sums[1] += (change - before) * (change - before);
      });
      threads_.sum(sums);
      found[2 * s] = sums[0];
      found[2 * s + 1] = sums[1];
    }
  }

  TAUTLINE_HOST_DEVICE bool go(double size) noexcept {
    for_each([&](int i) { u_[i] = reached(i, size); });
    return true;
  }

  [[nodiscard]] TAUTLINE_HOST_DEVICE double last_of(const double (&values)[kItems]) const noexcept {
    double last = 0;
    for_each([&](int i) { last = values[i]; });
    return last;
  }
  [[nodiscard]] TAUTLINE_HOST_DEVICE double clipped_last() const noexcept {
    double last = 0;
    for_each([&](int i) { last = clipped(i, target_[i]); });
    return last;
  }

  const Threads& threads_;
  const Level row_;
  const double range_;
  Level level_ = {};
  int items_ = 0;           // of a thread
  std::int32_t first_ = 0;  // of its samples
  double x_[kItems] = {};
  double u_[kItems] = {};
  double rise_[kItems] = {};       // of y behind each sample: the slope of the objective
  double mean_[kItems] = {};       // of the sample's segment
  double target_[kItems] = {};     // for u
  std::int32_t start_before_ = 0;  // of the segment that is open at the thread's first sample
  unsigned fixed_ = 0;             // edges that stay at their bounds, and the row's end
  unsigned made_up_ = 0;           // of these, where the target does not jump as it should
};

}  // namespace tautline::detail
