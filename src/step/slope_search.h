// The direct method in its slope form: the same search as direct.h with half of
// its additions, for processors where many lanes wait for one another. Shared by
// host and device; knows only the samples it is given.
//
// After `length` samples of a segment that sum to `sum`, with the dual variable u_start before
// it, the segment's value v leads to u_start + sum - v length. That must stay within
// [-lam, lam], so v lies between
//   (sum + u_start - lam) / length   and   (sum + u_start + lam) / length
// for every length read so far: between `low` and `high`. Once low > high no value
// works: the segment ended where the older of the two bounds was set, with that
// bound as its value, and the string turns away from it.
//
// Two quotients over hundreds of samples do not tell whether one more sample is above a bound or
// below it: in float32 they would take a sample into a long segment that does not belong to it.
// So a sample moves a bound if the samples since the bound was set, counted from the bound, sum
// to nothing that speaks against it. Near a bound each of these differences is exact. The
// quotient only says where the bound moves to, at most as far as to the sample itself. That limit
// keeps runs of equal samples whole: none of them is ever beyond a bound that another one has
// set. For the same reason all is counted from the segment's first sample: a run that begins a
// segment then sums to exactly 0.
//
// A sample takes 23 operations, 16 where quotients are compared: 4 for its difference from the
// first one, the sum and the length, 4 for what it is above the bounds, 4 for the quotients, 3
// comparisons, and 8 that move bounds. Where each edge has a lam of its own there are 11 more.
//
// Samples are taken in groups. In long rows those of a group are summed on their own and
// what adding that to the sum loses is carried along, so that the error of a sum does not
// grow with its length. A group starts after the segment's first sample, so that the
// numbers do not depend on who searches. A sample that is NaN sets no bounds: it stands
// for those after a piece.
//
// The last sample of a row may set bounds like any other: the value that the end asks
// for lies between those that it sets.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

inline constexpr int kGroup = 6;

/// How a piece of a row ends: after so many samples, with this dual variable.
template <class T>
struct PieceEnd {
  T length;
  T u;
};

/// Where a segment ends, and the dual variable there: lam where the string turns down, -lam
/// where it turns up, what the end asks for at the end of its piece.
template <class T>
struct SegmentCut {
  T length;
  T sum;
  bool down;
};

/// What the samples read so far allow. Numbers of samples are kept as T, in which they are
/// needed most.
template <class T>
struct Bounds {
  T low;
  T high;
  T low_length;  // where they were set
  T high_length;
  T low_sum;
  T high_sum;
  T above_low;  // the samples read since then, counted from the bound
  T above_high;
};

/// One more sample of a segment.
template <class T>
struct NextSample {
  T value;
  T total;    // of the segment's samples up to this one
  T length;   // their number
  T floor_u;  // u_start - lam and u_start + lam
  T ceiling_u;
  // What differs only where each edge has a lam of its own.
  T low_rise;  // what above_low must reach to move low: how much lam has grown since it was set
  T high_rise;
  T low_limit;  // the sample, as it were with the lam before: low rises no further
  T high_limit;
};

/// Takes one more sample into account.
template <bool kMayHaveCrossed, class Arithmetic, class T>
constexpr void tighten_bounds(Bounds<T>& bounds, const NextSample<T>& next) noexcept {
  const T share = Arithmetic::reciprocal(next.length);
  const T floor = Arithmetic::quotient(next.total, next.floor_u, share);
  const T ceiling = Arithmetic::quotient(next.total, next.ceiling_u, share);
  const T above_low = bounds.above_low + (next.value - bounds.low);
  const T above_high = bounds.above_high + (next.value - bounds.high);
  // Not one after the other, as the first could not close it: a floor is not above its ceiling.
  const bool open = !kMayHaveCrossed || bounds.low <= bounds.high;
  const bool raises = open && above_low >= next.low_rise;
  const bool lowers = open && above_high <= next.high_rise;
  bounds.low = !raises ? bounds.low : (floor < next.low_limit ? floor : next.low_limit);
  bounds.low_length = raises ? next.length : bounds.low_length;
  bounds.low_sum = raises ? next.total : bounds.low_sum;
  bounds.above_low = raises ? T(0) : above_low;
  bounds.high = !lowers ? bounds.high : (ceiling > next.high_limit ? ceiling : next.high_limit);
  bounds.high_length = lowers ? next.length : bounds.high_length;
  bounds.high_sum = lowers ? next.total : bounds.high_sum;
  bounds.above_high = lowers ? T(0) : above_high;
}

/// What a search computes with, in plain words.
template <class T>
struct PlainArithmetic {
  T zero;  // 0 and 1, which a device's arithmetic needs as numbers that no compiler knows
  T one;

  static constexpr T reciprocal(T length) noexcept { return 1 / length; }
  static constexpr T divide(T a, T length) noexcept { return a / length; }
  /// (total + u) / length: a bound.
  static constexpr T quotient(T total, T u, T share) noexcept { return (total + u) * share; }
  static constexpr std::int32_t to_int(T whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
  /// Whether a condition holds for any of the lanes that go together.
  static constexpr bool any_lane(bool condition) noexcept { return condition; }

  template <bool kMayHaveCrossed>
  constexpr void tighten(Bounds<T>& bounds, const NextSample<T>& next) const noexcept {
    tighten_bounds<kMayHaveCrossed, PlainArithmetic>(bounds, next);
  }
};

/// `Arithmetic` is PlainArithmetic or does the same faster; bounds need not be rounded
/// correctly, as no value depends on them. kCarriesRest: what sums lose is carried along.
template <class T, class Arithmetic, bool kCarriesRest>
struct SlopeSearch {
  using ArithmeticType = Arithmetic;
  static constexpr bool kCarries = kCarriesRest;

  T u_start;
  T floor_u;  // u_start - lam and u_start + lam, where lam is one for the row
  T ceiling_u;
  T last_lam;  // where each edge has its own: of the last edge read,
  T low_lam;   // and of those where the bounds were set
  T high_lam;
  T origin;  // the first sample; sums and bounds are counted from it
  T length;
  T sum;
  T rest;  // what the sum lacks
  Bounds<T> bounds;

  /// Begins a segment with the sample `first`; lam is that of the edge after it.
  constexpr void begin(T first, T u, T lam) noexcept {
    u_start = u;
    floor_u = u - lam;
    ceiling_u = u + lam;
    last_lam = low_lam = high_lam = lam;
    origin = first;
    length = 1;
    sum = 0;
    rest = 0;
    bounds = {floor_u, ceiling_u, 1, 1, 0, 0, 0, 0};
  }

  /// Takes a group of samples. lams[j] is that of the edge after sample j, unless
  /// Lams::kUniform says that it is one for the row.
  template <class Lams>
  constexpr void take(const T (&samples)[kGroup], const Lams& lams,
                      const Arithmetic& arithmetic) noexcept {
    const T before = sum;
    const T length_before = length;
    T part = rest;
    const auto take_one = [&]<bool kMayHaveCrossed>(int j) {
      const T sample = samples[j] - origin;
      if (kCarriesRest) {
        part += sample;
        sum = before + part;
      } else {
        sum += sample;
      }
      length = length_before + static_cast<T>(j + 1);
      if constexpr (Lams::kUniform) {
        arithmetic.template tighten<kMayHaveCrossed>(
            bounds, {sample, sum, length, floor_u, ceiling_u, T(0), T(0), sample, sample});
      } else {
        const T lam = lams[j];
        const T rise = lam - last_lam;
        arithmetic.template tighten<kMayHaveCrossed>(
            bounds, {sample, sum, length, u_start - lam, u_start + lam, lam - low_lam,
                     high_lam - lam, sample - rise, sample + rise});
        last_lam = lam;
        low_lam = bounds.low_length == length ? lam : low_lam;
        high_lam = bounds.high_length == length ? lam : high_lam;
      }
    };
    take_one.template operator()<false>(0);
    for (int j = 1; j < kGroup; ++j) take_one.template operator()<true>(j);
    if (kCarriesRest) rest = (before - sum) + part;
  }

  [[nodiscard]] constexpr bool crossed() const noexcept { return bounds.low > bounds.high; }

  /// The cut of bounds that have crossed.
  [[nodiscard]] constexpr SegmentCut<T> cut() const noexcept {
    const bool down = bounds.low_length < bounds.high_length;
    return cut_at(down ? bounds.low_length : bounds.high_length,
                  down ? bounds.low_sum : bounds.high_sum, down);
  }

  /// What the end of a piece needs of the search before its last group.
  struct BeforeGroup {
    T length;
    T sum;
    T rest;
    T above_low;
    T above_high;
  };
  [[nodiscard]] constexpr BeforeGroup before_group() const noexcept {
    return {length, sum, rest, bounds.above_low, bounds.above_high};
  }

  /// The cut where the piece has ended first: perhaps with it. `samples` are its last group; those
  /// after the piece are NaN, and have left their mark on what counts samples.
  template <class Lams>
  [[nodiscard]] constexpr SegmentCut<T> cut_at_end(const BeforeGroup& before,
                                                   const T (&samples)[kGroup],
                                                   const PieceEnd<T>& end) const noexcept {
    T part = kCarriesRest ? before.rest : before.sum;
    T above_low = bounds.low_length > before.length ? T(0) : before.above_low;
    T above_high = bounds.high_length > before.length ? T(0) : before.above_high;
    for (int j = 0; j < kGroup; ++j) {  // without branches, which would part the lanes
      const T at = before.length + static_cast<T>(j + 1);
      const bool in_piece = at <= end.length;
      const T sample = samples[j] - origin;
      part += in_piece ? sample : T(0);
      above_low += in_piece && at > bounds.low_length ? sample - bounds.low : T(0);
      above_high += in_piece && at > bounds.high_length ? sample - bounds.high : T(0);
    }
    // The end is a sample that allows one value alone: end.u stands for lam and -lam there. A
    // bound that the last sample set is met, whatever rounding says.
    const T lam = ceiling_u - u_start;
    const T low_rise = end.u - (Lams::kUniform ? lam : low_lam);
    const T high_rise = end.u + (Lams::kUniform ? lam : high_lam);
    const bool down = above_low < low_rise && bounds.low_length < end.length;
    const bool up = above_high > high_rise && bounds.high_length < end.length;
    if (down) return cut_at(bounds.low_length, bounds.low_sum, true);
    if (up) return cut_at(bounds.high_length, bounds.high_sum, false);
    return cut_at(end.length, kCarriesRest ? before.sum + part : part, false);
  }

 private:
  /// `sum` is counted from the origin; of small whole numbers nothing is rounded.
  [[nodiscard]] constexpr SegmentCut<T> cut_at(T at, T total, bool down) const noexcept {
    return {at, total + at * origin, down};
  }
};

/// The dual variable after a jump over an edge.
template <class T>
[[nodiscard]] constexpr T dual_at_jump(bool down, T lam) noexcept {
  return down ? lam : -lam;
}

/// Whether a jump goes the way it should: one that rounding made up does not. With nothing
/// (NaN) on its left every jump is real.
template <class T>
[[nodiscard]] constexpr bool is_real_jump(bool down, T left, T right) noexcept {
  const T rise = right - left;
  return !((down ? -rise : rise) <= 0);
}

}  // namespace tautstring::detail
