// Projected Newton on the dual of one row (tautstring/newton1d.h) by several threads, each of which
// has some consecutive samples: on a device the threads of a block, in tests those of a processor.
//
// With P the running sum of x, the string P - u is in the tube P -+ lam, and its slopes are y. The
// Newton system of the edges that are not held at a wall of the tube is solved by straight lines
// between those that are held. So an iteration pulls the string straight between its held edges and
// clips it into the tube; threads need only exchange the held edges nearest to them.
//
// Running sums lose digits of the values, not of the string: once the held edges are found, values
// are computed as means of x over segments.
//
// Knows threads only through `Threads`: thread(), count() and near_reciprocal, and the functions
// that all of them call together: sync(), neighbours, around, sum, sum_before and sum_since.
//
// Written so that threads rarely diverge: held and free edges are handled by selection, not by
// branches.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "step/host_device.h"
#include "step/newton_row.h"
#include "step/row_quality.h"

namespace tautstring::detail {

/// A number that belongs to an edge: the one after the sample of this index.
struct EdgeValue {
  std::int32_t edge;
  double value;
};
/// The nearest values in the threads before, {-1, 0} if there is none, and in those after.
struct EdgesAround {
  EdgeValue left;
  EdgeValue right;
};
/// Values of the threads before and after; 0 if there is none.
struct Neighbours {
  double before;
  double behind;
};

/// Longer rows start from the result of some iterations on the row of their pairs, and these
/// likewise: one iteration on the pairs, two on pairs of pairs, and so on.
inline constexpr std::int32_t kNewtonThreadsShortRow = 32;
/// How often spurious jumps due to rounding are removed before a row is left to another solver.
inline constexpr int kNewtonCleanings = 3;

[[nodiscard]] constexpr int newton_levels(std::int32_t n) noexcept {
  int levels = 1;
  for (; n > kNewtonThreadsShortRow; n = (n + 1) / 2) ++levels;
  return levels;
}
/// Number of samples of a row and of all the rows of pairs that it starts from.
[[nodiscard]] constexpr std::int32_t newton_samples(std::int32_t n) noexcept {
  std::int32_t all = n;
  for (; n > kNewtonThreadsShortRow; all += n) n = (n + 1) / 2;
  return all;
}

/// Arrays of newton_samples each, those of the row itself first.
struct NewtonMemory {
  double* x;       // input for the row: not far from 0
  double* u;       // of the edge after each sample; input if there is a start
  double* lam;     // likewise, > 0; null: `row_lam` for all
  double row_lam;  // > 0
  double range;    // range of the samples
};

/// How it ended.
struct NewtonOutcome {
  int iterations;
  bool converged;
  bool is_clean;  // whether the result jumps in the direction of its dual variables
};

template <class Threads, int kItems>
class NewtonThreads {
 public:
  TAUTSTRING_HOST_DEVICE NewtonThreads(Threads& threads, const NewtonMemory& memory,
                                       std::int32_t n) noexcept
      : threads_(threads),
        row_({n, memory.x, memory.u, memory.lam, memory.row_lam}),
        range_(memory.range) {}

  /// With a tolerance, iterations end when the target is within it. The result, from which jumps
  /// that are held the wrong way are removed, may not be within it: then they continue to the end.
  TAUTSTRING_HOST_DEVICE NewtonOutcome solve(NewtonOptions options, bool has_start) noexcept {
    for (;; options.tol = 0) {
      const NewtonOutcome outcome = search(options, has_start);
      if (options.tol == 0 || !outcome.converged) return outcome;
      const auto as_it_is = [](double value, double /*sample*/) { return value; };
      if (quality_of(as_it_is).is_within(options.tol)) return outcome;
    }
  }

  /// Calls use(i, value, u, jump) for the thread's samples; u and the sign of the jump (0: none)
  /// are those of the edge after the sample.
  template <class Use>
  TAUTSTRING_HOST_DEVICE void for_each_result(const Use& use) const noexcept {
    for_each([&](int i) {
      if (index(i) < level_.n) use(index(i), mean_[i], clipped(target_[i], lam_[i]), jump_sign(i));
    });
  }

  /// The quality of the result as returned: returned(value, x) is the returned value, in the scale
  /// and offset of its sample x. All threads call it together.
  template <class Returned>
  [[nodiscard]] TAUTSTRING_HOST_DEVICE RowQuality
  quality_of(const Returned& returned) const noexcept {
    double y[kItems] = {};
    double last_u = 0;
    for_each([&](int i) {
      if (index(i) < level_.n) y[i] = returned(mean_[i], x_[i]);
      last_u = clipped(target_[i], lam_[i]);
    });
    const Neighbours others = threads_.neighbours(y[0], last_u);
    RowQuality own;
    double u_before = others.before;
    for_each([&](int i) {
      if (index(i) >= level_.n) return;
      const double u = clipped(target_[i], lam_[i]);
      own.add_sample(x_[i] - y[i], u - u_before);
      u_before = u;
      const double behind = i + 1 >= items_ ? others.behind : y[i + 1 < kItems ? i + 1 : i];
      if (!is_end(i)) own.add_edge(behind - y[i], u, lam_[i]);
    });
    double sums[2] = {own.gap, own.objective};
    threads_.sum(sums, false);
    return {sums[0], sums[1]};
  }

 private:
  static_assert(kItems <= 32);  // one bit each in a mask

  struct Level {
    std::int32_t n;
    double* x;
    double* u;
    double* lam;
    double row_lam;
  };

  /// The effect of a full step to the target.
  struct Worth {
    double slope;
    double bend;
    bool violates;  // whether the target violates its bounds or the direction of a jump
  };

  // --- From the start to the result ---

  TAUTSTRING_HOST_DEVICE NewtonOutcome search(const NewtonOptions& options,
                                              bool has_start) noexcept {
    const int levels = has_start ? 1 : newton_levels(row_.n);
    threads_.sync();
    find_drift();
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
      outcome = iterate(l > 0 ? l : options.iterations, options);
      if (l > 0) store_dual();
    }
    finish(outcome);
    return outcome;
  }

  // --- Rows of pairs ---

  [[nodiscard]] static TAUTSTRING_HOST_DEVICE Level pairs_of(const Level& level) noexcept {
    const std::int32_t n = level.n;
    return {(n + 1) / 2, level.x + n, level.u + n, level.lam == nullptr ? nullptr : level.lam + n,
            level.row_lam / 2};
  }

  /// Computes the mean of each pair. The dual variable of an edge between two pairs, and its bound,
  /// is half of that in the row itself.
  TAUTSTRING_HOST_DEVICE Level make_pairs(const Level& level) noexcept {
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

  TAUTSTRING_HOST_DEVICE void start_from(const Level& pairs) noexcept {
    const auto between = [&](std::int32_t edge) {  // two pairs; 0 outside
      return edge < 0 || edge >= level_.n - 1 ? 0 : 2 * pairs.u[edge / 2];
    };
    for_each([&](int i) {
      const std::int32_t edge = index(i);
      const double u = edge % 2 == 1 ? between(edge) : (between(edge - 1) + between(edge + 1)) / 2;
      u_[i] = clipped(u, lam_[i]);
    });
  }
  TAUTSTRING_HOST_DEVICE void start(bool is_given) noexcept {
    for_each([&](int i) {
      u_[i] = is_given && index(i) < level_.n - 1 ? clipped(level_.u[index(i)], lam_[i]) : 0;
    });
  }
  TAUTSTRING_HOST_DEVICE void store_dual() noexcept {
    for_each([&](int i) {
      if (index(i) < level_.n) level_.u[index(i)] = clipped(target_[i], lam_[i]);
    });
    threads_.sync();
  }

  // --- The thread's part of a level ---

  /// Finds a number near the mean of x, so that running sums do not grow with every sample. As it
  /// has few digits, sums of integers stay exact.
  TAUTSTRING_HOST_DEVICE void find_drift() noexcept {
    double sum[1] = {0};
    for (std::int32_t i = threads_.thread(); i < row_.n; i += threads_.count()) sum[0] += row_.x[i];
    threads_.sum(sum, false);
    constexpr std::uint64_t kFewDigits = ~((std::uint64_t{1} << 45) - 1);
    drift_ = std::bit_cast<double>(std::bit_cast<std::uint64_t>(sum[0] / row_.n) & kFewDigits);
  }

  TAUTSTRING_HOST_DEVICE void enter(const Level& level) noexcept {
    level_ = level;
    items_ = (level.n + threads_.count() - 1) / threads_.count();
    first_ = threads_.thread() * items_;
    double sum = 0;
    for_each([&](int i) {
      const bool is_sample = index(i) < level.n;
      x_[i] = is_sample ? level.x[index(i)] : 0;
      if (is_sample) sum += x_[i] - drift_;
      sum_[i] = sum;
      lam_[i] = lam_of(index(i));
    });
    lam_before_ = lam_of(first_ - 1);
    x_behind_ = index(items_) < level.n ? level.x[index(items_)] : 0;
    sum_before_ = threads_.sum_before(sum);
    for_each([&](int i) { sum_[i] += sum_before_; });
  }
  template <class Use>
  TAUTSTRING_HOST_DEVICE void for_each(const Use& use) const noexcept {
    TAUTSTRING_UNROLL
    for (int i = 0; i < kItems; ++i) {
      if (i < items_) use(i);
    }
  }
  template <class Use>
  TAUTSTRING_HOST_DEVICE void for_each_backwards(const Use& use) const noexcept {
    TAUTSTRING_UNROLL
    for (int i = kItems - 1; i >= 0; --i) {
      if (i < items_) use(i);
    }
  }
  [[nodiscard]] constexpr std::int32_t index(int i) const noexcept { return first_ + i; }
  /// 0 before the first edge of the row, and after its last sample.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double lam_of(std::int32_t edge) const noexcept {
    if (edge < 0 || edge >= level_.n - 1) return 0;
    return level_.lam != nullptr ? level_.lam[edge] : level_.row_lam;
  }
  static constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  [[nodiscard]] static constexpr double size_of(double value) noexcept {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & ~kSign);
  }
  /// `most` is not negative.
  [[nodiscard]] static TAUTSTRING_HOST_DEVICE double clipped(double u, double most) noexcept {
    const double at_bound = std::bit_cast<double>(std::bit_cast<std::uint64_t>(most) |
                                                  (std::bit_cast<std::uint64_t>(u) & kSign));
    return size_of(u) > most ? at_bound : u;
  }
  [[nodiscard]] constexpr bool is_held(int i) const noexcept { return (held_ >> i & 1U) != 0; }
  [[nodiscard]] constexpr bool is_end(int i) const noexcept { return index(i) >= level_.n - 1; }
  /// The jump of y, positive in the direction that a held edge requires: a fall where u is at its
  /// upper bound.
  [[nodiscard]] constexpr double as_held(int i, double jump) const noexcept {
    return u_[i] > 0 ? -jump : jump;
  }
  [[nodiscard]] constexpr int jump_sign(int i) const noexcept {
    if (!is_held(i) || is_end(i)) return 0;
    return u_[i] > 0 ? -1 : 1;
  }
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double last_of(
      const double (&values)[kItems]) const noexcept {
    double last = 0;
    for_each([&](int i) { last = values[i]; });
    return last;
  }
  /// The values of the nearest held edges in other threads.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE EdgesAround
  around(const double (&values)[kItems]) const noexcept {
    double first = 0;
    double last = 0;
    for_each([&](int i) { last = is_held(i) ? values[i] : last; });
    for_each_backwards([&](int i) { first = is_held(i) ? values[i] : first; });
    // Not std::countr_zero, which nvcc 13.0 evaluates to 32.
    const auto edge_of = [&](unsigned highest) { return first_ + 31 - std::countl_zero(highest); };
    return threads_.around(held_ != 0, {edge_of(held_ & (~held_ + 1)), first},
                           {edge_of(held_), last});
  }

  // --- Iterations ---

  TAUTSTRING_HOST_DEVICE NewtonOutcome iterate(int limit, const NewtonOptions& options) noexcept {
    for (int iteration = 1;; ++iteration) {
      find_held();
      aim();
      const Worth worth = look();
      const bool is_near = !worth.violates || (options.tol > 0 && has_gap_of(options.tol));
      if (is_near || iteration >= limit || !step(worth, options.halves)) {
        return {iteration, is_near, true};
      }
    }
  }

  /// Finds the edges that y holds at a wall, and the end of the row.
  TAUTSTRING_HOST_DEVICE void find_held() noexcept {
    const Neighbours u = threads_.neighbours(u_[0], last_of(u_));
    u_before_ = u.before;
    held_ = 0;
    double y = x_[0] - (u_[0] - u.before);
    for_each([&](int i) {
      const bool is_last = i + 1 >= items_;
      const double x_next = is_last ? x_behind_ : x_[i + 1 < kItems ? i + 1 : i];
      const double u_next = is_last ? u.behind : u_[i + 1 < kItems ? i + 1 : i];
      const double y_next = x_next - (u_next - u_[i]);
      rise_[i] = y_next - y;
      y = y_next;
      const bool stays = size_of(u_[i]) >= lam_[i] && as_held(i, rise_[i]) > 0;
      held_ |= stays || is_end(i) ? 1U << i : 0;
    });
  }

  /// Pulls the string straight between its held edges.
  TAUTSTRING_HOST_DEVICE void aim() noexcept {
    double string[kItems] = {};
    for_each([&](int i) { string[i] = sum_[i] - u_[i]; });
    const EdgesAround others = around(string);
    EdgeValue left = others.left;
    const auto slope_from_left = [&](const EdgeValue& right) {
      return (right.value - left.value) * threads_.near_reciprocal(right.edge - left.edge);
    };
    for_each([&](int i) {
      mean_[i] = slope_from_left({index(i), string[i]});  // where it is held
      left.edge = is_held(i) ? index(i) : left.edge;
      left.value = is_held(i) ? string[i] : left.value;
    });
    EdgeValue right = others.right;
    mean_behind_ = right.edge > left.edge ? slope_from_left(right) : 0;  // beyond the row
    double mean = mean_behind_;
    wrong_jump_ = 0;
    for_each_backwards([&](int i) {
      const double wrong = as_held(i, mean_[i] - mean) * (right.edge - index(i));
      wrong_jump_ = is_held(i) && !is_end(i) && wrong > wrong_jump_ ? wrong : wrong_jump_;
      mean = is_held(i) ? mean_[i] : mean;
      right.edge = is_held(i) ? index(i) : right.edge;
      right.value = is_held(i) ? string[i] : right.value;
      mean_[i] = mean;
      const double line = right.value - mean * (right.edge - index(i));
      target_[i] = is_held(i) ? u_[i] : sum_[i] - line;
    });
    const double line = right.value - mean * (right.edge - first_ + 1);
    target_before_ = others.left.edge == first_ - 1 ? u_before_ : sum_before_ - line;
  }

  TAUTSTRING_HOST_DEVICE Worth look() noexcept {
    // The rounding error of running sums of this many samples.
    const double rounding = std::numeric_limits<double>::epsilon() * range_ * (level_.n + 4);
    bool violates = wrong_jump_ > rounding;
    double sums[2] = {};
    double change = clipped(target_before_, lam_before_) - u_before_;
    for_each([&](int i) {
      const double next = clipped(target_[i], lam_[i]);
      const double change_before = change;
      change = next - u_[i];
      violates = violates || size_of(next - target_[i]) > rounding;
      sums[0] += rise_[i] * change;
      sums[1] += (change - change_before) * (change - change_before);
    });
    violates = threads_.sum(sums, violates);
    return {sums[0], sums[1], violates};
  }

  /// Whether the duality gap of the target is at most `tol` times its objective.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE bool has_gap_of(double tol) noexcept {
    double sums[2] = {gap_of_excess(), 0};
    for_each([&](int i) {
      const double from_mean = index(i) < level_.n ? x_[i] - drift_ - mean_[i] : 0;
      sums[1] += from_mean * from_mean / 2;
    });
    for_each_jump([&](int i, double jump) {
      const double cost = lam_[i] * size_of(jump);
      sums[0] += as_held(i, jump) > 0 ? 0 : 2 * cost;
      sums[1] += cost;
    });
    threads_.sum(sums, false);
    return sums[0] <= tol * sums[1];
  }
  /// The thread's part of the gap from clipping dual variables to their bounds.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double gap_of_excess() const noexcept {
    double gap = 0;
    double excess = clipped(target_before_, lam_before_) - target_before_;
    for_each([&](int i) {
      const double before = excess;
      excess = clipped(target_[i], lam_[i]) - target_[i];
      gap += (excess - before) * (excess - before) / 2;
    });
    return gap;
  }
  /// Calls use(i, jump) for the held edges within the row.
  template <class Use>
  TAUTSTRING_HOST_DEVICE void for_each_jump(const Use& use) const noexcept {
    for_each([&](int i) {
      const bool is_last = i + 1 >= items_;
      const double behind = is_last ? mean_behind_ : mean_[i + 1 < kItems ? i + 1 : i];
      if (is_held(i) && !is_end(i)) use(i, behind - mean_[i]);
    });
  }

  /// Steps towards the target as far as the objective decreases enough; false: it does not move.
  TAUTSTRING_HOST_DEVICE bool step(const Worth& whole, bool halves) noexcept {
    const auto gains = [](double slope, double bend) {
      return slope < 0 && slope + bend / 2 <= kNewtonEnough * slope;
    };
    if (gains(whole.slope, whole.bend)) return go(1);
    const double slope_at_zero = slope_of_direction();
    double size = 1;
    double sums[2] = {whole.slope, whole.bend};
    for (int trial = 1; trial < kNewtonTrials; ++trial) {
      size = halves ? size / 2 : least_of_parabola(size, sums[0] + sums[1] / 2, slope_at_zero);
      look_at_step(size, sums);
      if (gains(sums[0], sums[1])) return go(size);
    }
    return false;
  }

  /// The minimum of the parabola through 0 with this slope there, and through `gained` at `size`,
  /// limited to values not far from halfway.
  [[nodiscard]] static constexpr double least_of_parabola(double size, double gained,
                                                          double slope) noexcept {
    const double least = -slope * size * size / (2 * (gained - slope * size));
    if (!(least > size / 10)) return size / 10;
    return least < size / 2 ? least : size / 2;
  }

  [[nodiscard]] TAUTSTRING_HOST_DEVICE double slope_of_direction() noexcept {
    double slope[1] = {0};
    for_each([&](int i) { slope[0] += rise_[i] * (target_[i] - u_[i]); });
    threads_.sum(slope, false);
    return slope[0];
  }

  /// Where a step of this size leads.
  [[nodiscard]] static TAUTSTRING_HOST_DEVICE double reached(double u, double target, double size,
                                                             double most) noexcept {
    return clipped(size == 1 ? target : u + size * (target - u), most);
  }
  /// Computes the slope and curvature of a step.
  TAUTSTRING_HOST_DEVICE void look_at_step(double size, double (&sums)[2]) noexcept {
    sums[0] = 0;
    sums[1] = 0;
    double change = reached(u_before_, target_before_, size, lam_before_) - u_before_;
    for_each([&](int i) {
      const double before = change;
      change = reached(u_[i], target_[i], size, lam_[i]) - u_[i];
      sums[0] += rise_[i] * change;
      sums[1] += (change - before) * (change - before);
    });
    threads_.sum(sums, false);
  }

  TAUTSTRING_HOST_DEVICE bool go(double size) noexcept {
    for_each([&](int i) { u_[i] = reached(u_[i], target_[i], size, lam_[i]); });
    return true;
  }

  // --- The result ---

  /// Turns the last target into values; jumps that contradict the held side of their edge are
  /// removed.
  TAUTSTRING_HOST_DEVICE void finish(NewtonOutcome& outcome) noexcept {
    for (int cleaning = 0;; ++cleaning) {
      find_values();
      unsigned made_up = 0;
      for_each_jump([&](int i, double jump) { made_up |= as_held(i, jump) > 0 ? 0 : 1U << i; });
      double nothing[1] = {0};
      outcome.is_clean = !threads_.sum(nothing, made_up != 0);
      if (outcome.is_clean || cleaning == kNewtonCleanings) return;
      held_ &= ~made_up;
      aim();
    }
  }

  /// Computes the means of x over the segments between held edges, with the terms of these edges.
  TAUTSTRING_HOST_DEVICE void find_values() noexcept {
    const EdgeValue before = around(u_).left;
    double sum = 0;
    for_each([&](int i) { sum = is_held(i) ? 0 : sum + x_[i]; });
    sum = threads_.sum_since(held_ != 0, sum);
    EdgeValue left = before;
    for_each([&](int i) {
      sum += x_[i];
      if (!is_held(i)) return;
      mean_[i] = (sum + (left.value - u_[i])) / (index(i) - left.edge);
      left = {index(i), u_[i]};
      sum = 0;
    });
    mean_behind_ = around(mean_).right.value;
    double mean = mean_behind_;
    for_each_backwards([&](int i) {
      mean = is_held(i) ? mean_[i] : mean;
      mean_[i] = mean;
    });
  }

  Threads& threads_;
  const Level row_;
  const double range_;
  double drift_ = 0;
  Level level_ = {};
  int items_ = 0;           // of a thread
  std::int32_t first_ = 0;  // of its samples
  double x_[kItems] = {};
  double x_behind_ = 0;
  double sum_[kItems] = {};  // of x minus the drift, up to each sample
  double sum_before_ = 0;
  double lam_[kItems] = {};  // of the edge after each; 0 if there is none
  double lam_before_ = 0;
  double u_[kItems] = {};
  double u_before_ = 0;
  double rise_[kItems] = {};  // of y after each sample: the slope of the objective
  double mean_[kItems] = {};  // y of the target, minus the drift; in the end the value
  double mean_behind_ = 0;
  double target_[kItems] = {};  // for u
  double target_before_ = 0;
  double wrong_jump_ = 0;  // the largest one of the target, times the number of samples after it
  unsigned held_ = 0;
};

}  // namespace tautstring::detail
