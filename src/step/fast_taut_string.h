// The taut string for rows without data weights. It finds the same partition as taut_string.h, in a
// quarter of its time on slopes and two thirds on noise. taut_string.h serves data weights; this
// version stores a point of the tube as two float64 and so cannot carry the compensated sums of
// weights. Shared by host and device; knows only samples and tube.
//
// The string and its two chains are those of taut_string.h: `upper` bends up along the tube's
// ceiling, `lower` down along its floor; both begin where the string was last fixed and end in the
// newest point. The differences are:
//
// - A chain keeps its inner knots with their coordinates; its last piece stays in
//   registers. A chain of one piece has no knots: it is *single*, else *open*.
// - Each of the four states (both single, one open, both open) has its own loop
//   that tests only what can happen there. Where one chain is open, say `upper`,
//   the single one is not steeper than upper's first piece (or the string would be
//   fixed along it), so a sample that is steeper than upper's last piece joins both.
// - Where one chain is open and long, samples are taken by stretches. See
//   scan_stretch for the proof that this changes nothing. It removes from the loop
//   over samples the two branches that no processor can predict on a noisy slope:
//   whether the last knot is hidden, and how many pieces are fixed.
//
// Rounding: knots are points of one set of running sums, as in taut_string.h. The rise of a single
// sample is taken from the sample, not from the sums. Slopes are compared by cross products. With
// |x| <= 2^10, lam a multiple of 1/4 and n <= 10^5 every operation is exact except for one quotient
// per stretch, and comparisons with that quotient are exact.
//
// Cost: an element is pushed at most once on each chain and popped at most once; a stretch that
// cannot be taken has at most half as many samples as the chain has pieces and is followed by as
// many single steps. Scratch: 32 bytes per element.
#pragma once

#include <cstddef>
#include <cstdint>

#include "step/taut_string.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// A point of the tube after `at` elements.
struct Knot {
  double height;
  double at;
};

/// Heights of the tube's two sides: kSide is -1 for the floor, +1 for the ceiling.
template <class Lams>
struct TubeSides {
  Lams lams;
  static constexpr bool kParallel = false;

  [[nodiscard]] constexpr double half_width(std::int32_t i) const noexcept {
    return static_cast<double>(lams[i]);
  }
  /// Height after element i, where the samples sum to `sum`.
  template <int kSide>
  [[nodiscard]] constexpr double height(double sum, std::int32_t i) const noexcept {
    return kSide < 0 ? sum - half_width(i) : sum + half_width(i);
  }
  /// The rise of the side along element i > 0.
  template <int kSide>
  [[nodiscard]] constexpr double rise(double sample, std::int32_t i) const noexcept {
    const double widening = half_width(i) - half_width(i - 1);
    return kSide < 0 ? sample - widening : sample + widening;
  }
  /// The height on side kSide of a point of height 0.
  template <int kSide>
  [[nodiscard]] constexpr double middle() const noexcept {
    return 0;
  }
  /// The same point seen from the other side.
  template <int kFromSide>
  [[nodiscard]] constexpr Knot across(Knot knot) const noexcept {
    return knot;
  }
};

/// With one lam the sides are parallel: each measures heights from itself, so that lam is needed
/// only where the string changes sides.
template <class T>
struct TubeSides<UniformLam<T>> {
  UniformLam<T> lams;
  static constexpr bool kParallel = true;

  template <int kSide>
  [[nodiscard]] constexpr double height(double sum, std::int32_t /*i*/) const noexcept {
    return sum;
  }
  template <int kSide>
  [[nodiscard]] constexpr double rise(double sample, std::int32_t /*i*/) const noexcept {
    return sample;
  }
  template <int kSide>
  [[nodiscard]] constexpr double middle() const noexcept {
    return kSide < 0 ? static_cast<double>(lams.lam) : -static_cast<double>(lams.lam);
  }
  template <int kFromSide>
  [[nodiscard]] constexpr Knot across(Knot knot) const noexcept {
    const double gap = 2 * static_cast<double>(lams.lam);
    return {kFromSide < 0 ? knot.height - gap : knot.height + gap, knot.at};
  }
};

/// Whether a is beyond b, in the direction that a chain of side kSide bends.
template <int kSide>
[[nodiscard]] constexpr bool beyond(double a, double b) noexcept {
  return kSide < 0 ? a < b : a > b;
}

/// The chain on one side, up to the newest point, which it does not keep.
template <int kSide>
struct KnotChain {
  Knot* first;  // where the string was last fixed, seen from this side
  Knot* past;   // after the last knot
  double rise;  // of the last piece, from past[-1] to the newest point; only where
  double run;   // the chain is open

  [[nodiscard]] constexpr std::ptrdiff_t pieces() const noexcept { return past - first; }
  [[nodiscard]] constexpr bool single() const noexcept { return pieces() == 1; }

  /// Makes the newest point a knot; the next element rises by `added_rise`.
  constexpr void push(Knot newest, double added_rise) noexcept {
    *past++ = newest;
    rise = added_rise;
    run = 1;
  }
  /// Makes `added` the newest point, given that it hides the one before; returns how many knots it
  /// hid.
  constexpr std::ptrdiff_t pop(Knot added) noexcept {
    const Knot* const before = past;
    Knot begin = past[-1];
    aim(begin, added);
    while (past - first > 1) {
      const Knot previous = past[-2];
      if (beyond<kSide>(rise * (begin.at - previous.at), (begin.height - previous.height) * run)) {
        break;
      }
      --past;
      begin = previous;
      aim(begin, added);
    }
    return before - past;
  }
  /// Adds the point that lies `added_rise` above the newest; returns as pop does.
  constexpr std::ptrdiff_t add(Knot newest, Knot added, double added_rise) noexcept {
    if (!beyond<kSide>(added_rise * run, rise)) return pop(added);
    push(newest, added_rise);
    return 0;
  }
  constexpr void aim(Knot begin, Knot end) noexcept {
    rise = end.height - begin.height;
    run = end.at - begin.at;
  }
};

/// The samples minus the first one, so that a large offset costs the sums no digits.
template <class In>
struct CentredSamples {
  const In* x;
  double origin;
  [[nodiscard]] constexpr double operator[](std::int32_t i) const noexcept {
    return static_cast<double>(x[i]) - origin;
  }
};

/// Counts no steps.
struct NoCount {
  constexpr void operator()(std::int64_t /*steps*/) const noexcept {}
};

template <class In, class Lams, class Border, class Count>
class KnotString {
 public:
  constexpr KnotString(const In* x, std::int32_t n, const Lams& lams, double u_start, Knot* scratch,
                       Border& border, Count& count) noexcept
      : samples_{x, static_cast<double>(x[0])},
        stop_(n - 1),
        sides_{lams},
        border_(border),
        count_(count),
        scratch_{scratch, scratch + n},
        lower_{scratch, scratch + 1, 0, 0},
        upper_{scratch + n, scratch + n + 1, 0, 0} {
    *lower_.first = {sides_.template middle<-1>() - u_start, 0};
    *upper_.first = {sides_.template middle<+1>() - u_start, 0};
  }

  /// Takes all elements but the last, where the tube has a different shape.
  constexpr void take_all_but_last() noexcept {
    while (next_ < stop_) {
      if (!lower_.single() && !upper_.single()) {
        take_with_both_open();
      } else if (!upper_.single()) {
        take_with_one_open<+1>();
      } else if (!lower_.single()) {
        take_with_one_open<-1>();
      } else {
        take_with_both_single();
      }
    }
  }

  constexpr void take_last(double u_end) noexcept {
    // The loops above may stop before they have fixed what the newest point allows.
    fix_along_open_chain(newest<-1>(), newest<+1>());
    const double end = sum_ + samples_[stop_] - u_end;
    const auto at = static_cast<double>(stop_ + 1);
    const Knot floor = {sides_.template middle<-1>() + end, at};
    const Knot ceiling = {sides_.template middle<+1>() + end, at};
    add_last(lower_, newest<-1>(), floor);
    add_last(upper_, newest<+1>(), ceiling);
    fix_along_open_chain(floor, ceiling);
  }

 private:
  /// With this many pieces a stretch is worth its setup cost. Chosen on an EPYC 9004 with
  /// bench.cpp; 4 to 12 differ little.
  static constexpr std::ptrdiff_t kLongChain = 8;
  static constexpr std::ptrdiff_t kLongestStretch = 64;
  /// A chain is moved back if it has left this many knots behind, and this many times its length:
  /// rarely.
  static constexpr std::ptrdiff_t kFarBehind = 1024;
  static constexpr std::ptrdiff_t kFarAChain = 4;

  template <int kSide>
  [[nodiscard]] constexpr KnotChain<kSide>& chain() noexcept {
    if constexpr (kSide < 0) {
      return lower_;
    } else {
      return upper_;
    }
  }
  template <int kSide>
  [[nodiscard]] constexpr Knot newest() const noexcept {
    return {sides_.template height<kSide>(sum_, next_ - 1), static_cast<double>(next_)};
  }

  constexpr void take_with_both_single() noexcept {
    // Copies, which stores of knots cannot change.
    const CentredSamples<In> samples = samples_;
    const TubeSides<Lams> sides = sides_;
    const Knot floor_start = *lower_.first;
    const Knot ceiling_start = *upper_.first;
    double sum = sum_;
    auto at = static_cast<double>(next_);
    std::int32_t i = next_;
    bool single = true;
    do {
      const double added = samples[i];
      const double floor = sides.template height<-1>(sum, i - 1);
      const double ceiling = sides.template height<+1>(sum, i - 1);
      const double floor_rise = sides.template rise<-1>(added, i);
      const double ceiling_rise = sides.template rise<+1>(added, i);
      const double run = at - floor_start.at;
      if (floor_rise * run < floor - floor_start.height) {
        lower_.push({floor, at}, floor_rise);
        single = false;
      }
      if (ceiling_rise * run > ceiling - ceiling_start.height) {
        upper_.push({ceiling, at}, ceiling_rise);
        single = false;
      }
      sum += added;
      at += 1;
      ++i;
    } while (single && i < stop_);
    count_(2 * std::int64_t{i - next_});
    sum_ = sum;
    next_ = i;
  }

  constexpr void take_with_both_open() noexcept {
    const CentredSamples<In> samples = samples_;
    const TubeSides<Lams> sides = sides_;
    KnotChain<-1> lower = lower_;
    KnotChain<+1> upper = upper_;
    double sum = sum_;
    auto at = static_cast<double>(next_);
    std::int32_t i = next_;
    do {
      const double added = samples[i];
      const double next_sum = sum + added;
      count_(lower.add({sides.template height<-1>(sum, i - 1), at},
                       {sides.template height<-1>(next_sum, i), at + 1},
                       sides.template rise<-1>(added, i)));
      count_(upper.add({sides.template height<+1>(sum, i - 1), at},
                       {sides.template height<+1>(next_sum, i), at + 1},
                       sides.template rise<+1>(added, i)));
      sum = next_sum;
      at += 1;
      ++i;
    } while (!lower.single() && !upper.single() && i < stop_);
    count_(2 * std::int64_t{i - next_});
    lower_ = lower;
    upper_ = upper;
    sum_ = sum;
    next_ = i;
  }

  /// The chain of side kSide is open, the other single.
  template <int kSide>
  constexpr void take_with_one_open() noexcept {
    const CentredSamples<In> samples = samples_;
    const TubeSides<Lams> sides = sides_;
    KnotChain<kSide> open = chain<kSide>();
    KnotChain<-kSide>& other = chain<-kSide>();
    double sum = sum_;
    auto at = static_cast<double>(next_);
    std::int32_t i = next_;
    bool other_single = true;
    open = fix_along(open, newest<-kSide>());
    while (other_single && !open.single() && i < stop_) {
      if (open.pieces() > kLongChain && i >= next_stretch_) {
        open = slide_back(open);
        const Stretch stretch = scan_stretch(open, sum, i);
        if (stretch.end > i) {
          open = join_stretch(open, stretch, stretch.end - i);
          sum = stretch.sum;
          i = stretch.end;
          at = static_cast<double>(i);
          open = fix_along(open, {sides.template height<-kSide>(sum, i - 1), at});
          continue;
        }
        next_stretch_ = stretch.tried;
      }
      const double added = samples[i];
      const double rise = sides.template rise<kSide>(added, i);
      const Knot newest = {sides.template height<kSide>(sum, i - 1), at};
      const bool joins = beyond<kSide>(rise * open.run, open.rise);
      // Between parallel sides what joins the open chain joins the single one.
      if (!joins || !TubeSides<Lams>::kParallel) {
        const Knot start = sides.template across<kSide>(*open.first);
        const double other_rise = sides.template rise<-kSide>(added, i);
        const double other_height = sides.template height<-kSide>(sum, i - 1);
        if (beyond<-kSide>(other_rise * (at - start.at), other_height - start.height)) {
          other.push({other_height, at}, other_rise);
          other_single = false;
        }
      }
      sum += added;
      at += 1;
      if (joins) {
        open.push(newest, rise);
      } else {
        count_(open.pop({sides.template height<kSide>(sum, i), at}));
      }
      ++i;
      if (other_single) open = fix_along(open, {sides.template height<-kSide>(sum, i - 1), at});
    }
    count_(2 * std::int64_t{i - next_});
    set_open_chain(open);
    sum_ = sum;
    next_ = i;
  }

  /// Fixes the string along an open chain as long as the other one, which is single and ends in
  /// `tip`, crosses its first piece: the string turns there.
  template <int kSide>
  constexpr KnotChain<kSide> fix_along(KnotChain<kSide> open, Knot tip) noexcept {
    const TubeSides<Lams> sides = sides_;
    Knot* const before = open.first;
    Knot begin = *open.first;
    while (!open.single()) {
      const Knot turn = open.first[1];
      // Measured from the turn, so that a short last part is not lost in a long one.
      const Knot start = sides.template across<kSide>(turn);
      if (!beyond<kSide>((tip.height - start.height) * (turn.at - begin.at),
                         (turn.height - begin.height) * (tip.at - start.at))) {
        break;
      }
      border_(static_cast<std::int32_t>(turn.at), kSide < 0 ? Code::down : Code::up);
      ++open.first;
      begin = turn;
    }
    count_(open.first - before);
    return open;
  }

  constexpr void fix_along_open_chain(Knot floor, Knot ceiling) noexcept {
    if (upper_.single() && !lower_.single()) set_open_chain(fix_along(lower_, ceiling));
    if (lower_.single() && !upper_.single()) set_open_chain(fix_along(upper_, floor));
  }

  /// If the string was fixed along the open chain, the other one starts there too.
  template <int kSide>
  constexpr void set_open_chain(KnotChain<kSide> open) noexcept {
    if (open.first != chain<kSide>().first) {
      *chain<-kSide>().first = sides_.template across<kSide>(*open.first);
    }
    chain<kSide>() = open;
  }

  template <int kSide>
  constexpr void add_last(KnotChain<kSide>& to, Knot newest, Knot added) noexcept {
    if (to.single()) to.aim(*to.first, newest);
    count_(to.add(newest, added, added.height - newest.height));
    count_(1);
  }

  /// Moves an open chain that has left many knots behind back to the start of its
  /// scratch, so that a chain along a slope stays in the cache.
  template <int kSide>
  constexpr KnotChain<kSide> slide_back(KnotChain<kSide> open) noexcept {
    Knot* const start = scratch_[kSide < 0 ? 0 : 1];
    const std::ptrdiff_t behind = open.first - start;
    const std::ptrdiff_t pieces = open.pieces();
    if (behind < kFarBehind || behind < kFarAChain * pieces) return open;
    set_open_chain(open);
    for (std::ptrdiff_t i = 0; i < pieces; ++i) start[i] = open.first[i];
    open.first = start;
    open.past = start + pieces;
    chain<kSide>() = open;
    return open;
  }

  /// Samples to take at once: from the next one up to `end`; `sum` is the sum of these and all
  /// before. The points that may become knots are stored after those of the open chain, up to
  /// `past`, which is the newest point.
  struct Stretch {
    double sum;  // only where samples can be taken
    Knot* past;
    std::int32_t end;    // the next element itself if none can
    std::int32_t tried;  // up to here another try is not worthwhile
  };

  /// Finds samples for which fixing can wait until all of them are on the chains. Suppose that
  /// `upper` is open, and let the guard be one of its pieces. If
  ///   (a) the floor rises along every sample at least as steeply as the guard, and
  ///   (b) the floor after the stretch is not above the guard's line,
  /// then the floor is not above that line all along the stretch, by (a), and the
  /// chain before the guard is. So the string is not fixed beyond the guard's start
  /// meanwhile, and from there or before no point of the floor is seen more steeply
  /// than the guard: every sample joins `lower` and it stays single. A piece that
  /// `lower` crosses it crosses until the end, by (a), and it is not popped: the
  /// ceiling is above the floor. So fixing once, at the end, fixes the same pieces.
  ///
  /// On the way it drops, without a branch, points that the next one hides: few are left for
  /// join_stretch to pop.
  template <int kSide>
  constexpr Stretch scan_stretch(KnotChain<kSide> open, double sum, std::int32_t first) noexcept {
    const CentredSamples<In> samples = samples_;
    const TubeSides<Lams> sides = sides_;
    const std::ptrdiff_t pieces = open.pieces();
    const std::ptrdiff_t wanted = pieces / 2 < kLongestStretch ? pieces / 2 : kLongestStretch;
    const std::int32_t limit =
        stop_ - first < wanted ? stop_ : first + static_cast<std::int32_t>(wanted);
    const Knot* const guard = open.first + pieces * 3 / 4;
    const double guard_rise = guard[1].height - guard->height;
    const double guard_run = guard[1].at - guard->at;
    const double guard_slope = guard_rise / guard_run;

    Knot newest = {sides.template height<kSide>(sum, first - 1), static_cast<double>(first)};
    std::int32_t i = first;
    for (; i < limit; ++i) {
      const double added = samples[i];
      if (beyond<-kSide>(sides.template rise<-kSide>(added, i), guard_slope)) break;
      const double rise = sides.template rise<kSide>(added, i);
      *open.past = newest;
      open.past += static_cast<std::ptrdiff_t>(beyond<kSide>(rise * open.run, open.rise));
      open.rise = rise;
      open.run = 1;
      sum += added;
      newest = {sides.template height<kSide>(sum, i), newest.at + 1};
    }
    count_(i - first);
    if (i > first) {
      const Knot start = sides.template across<kSide>(*guard);
      const double tip = sides.template height<-kSide>(sum, i - 1);
      if (beyond<kSide>((tip - start.height) * guard_run, guard_rise * (newest.at - start.at))) {
        i = first;
      }
    }
    *open.past = newest;
    return {sum, open.past, i, limit};
  }

  /// Puts the points of a stretch of `length` samples on the chain.
  template <int kSide>
  constexpr KnotChain<kSide> join_stretch(KnotChain<kSide> open, const Stretch& stretch,
                                          std::int32_t length) noexcept {
    if (stretch.past - open.past == length) {  // steeper and steeper: every point is a knot
      open.past = stretch.past;
      open.aim(open.past[-1], *open.past);
      return open;
    }
    const Knot* from = open.past;
    Knot begin = open.past[-1];
    double last_rise = begin.height - open.past[-2].height;
    double last_run = begin.at - open.past[-2].at;
    for (;; ++from) {
      const Knot added = *from;
      open.aim(begin, added);
      if (!beyond<kSide>(open.rise * last_run, last_rise * open.run)) {
        count_(open.pop(added));
        begin = open.past[-1];
      }
      if (from == stretch.past) return open;
      *open.past++ = added;
      begin = added;
      last_rise = open.rise;
      last_run = open.run;
    }
  }

  CentredSamples<In> samples_;
  std::int32_t stop_;  // the last element
  TubeSides<Lams> sides_;
  Border& border_;
  Count& count_;
  Knot* scratch_[2];  // of lower and upper
  KnotChain<-1> lower_;
  KnotChain<+1> upper_;
  double sum_ = 0;         // of the samples taken, each minus the first one
  std::int32_t next_ = 1;  // element; one is on both chains from the start
  std::int32_t next_stretch_ = 0;
};

/// Pulls the string through a row, or a piece of one, and calls border(k, code) for every element
/// k > 0 that starts a segment, in order. Ties (a string that touches the tube without bending)
/// make no border.
///
/// `lams` is a UniformLam or an EdgeLam, read at edges 0 .. n - 2, each finite and >= 0. u_start
/// and u_end are the sums of x - y up to the start and the end of the piece: 0 at the ends of a
/// row, +lam after a jump down, -lam after a jump up. `scratch` has 2 n knots. `count` receives the
/// number of chain pushes, pops and samples read ahead.
template <class In, class Lams, class Border, class Count = const NoCount>
constexpr void pull_unweighted_string(const In* x, std::int32_t n, const Lams& lams, double u_start,
                                      double u_end, Knot* scratch, Border&& border,
                                      Count&& count = Count{}) noexcept {
  if (n < 2) return;
  KnotString<In, Lams, Border, Count> string(x, n, lams, u_start, scratch, border, count);
  string.take_all_but_last();
  string.take_last(u_end);
}

}  // namespace tautstring::detail
