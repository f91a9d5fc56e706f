// The slope form of the direct method: the same search as direct.h with half of its additions, for
// processors on which many lanes run in lockstep. Shared by host and device; knows only the samples
// that it is given.
//
// After `length` samples of a segment that sum to `sum`, with the dual variable u_start before it,
// the segment's value v leads to u_start + sum - v length. That must stay within [-lam, lam], so v
// is between
//   (sum + u_start - lam) / length   and   (sum + u_start + lam) / length
// for every length read so far: between `low` and `high`. Once low > high no value
// works: the segment ended where the older of the two bounds was set, with that
// bound as its value, and the string turns away from it.
//
// Comparing two quotients over hundreds of samples does not show whether one more sample is above
// or below a bound: in float32, a long segment would take in a sample that does not belong to it.
// So whether a sample moves a bound is decided by the sum of the differences between the bound and
// the samples since it was set. Near a bound each of these differences is exact. The quotient only
// determines where the bound moves to, at most up to the sample itself. That limit keeps runs of
// equal samples whole: none of them is ever beyond a bound that another one has set. For the same
// reason, in float32 the first sample of the segment is subtracted from all others: a run that
// begins a segment then sums to exactly 0. In float64 it is not, because samples that alternate
// about 0 would then sum to more and more, and the sum of a million of them would lose digits that
// the promise for float64 needs.
//
// In float32 a sample takes 23 operations (comparing quotients would take 16): 4 for its difference
// from the first one, the sum and the length, 4 for the differences from the bounds, 4 for the
// quotients, 3 comparisons, and 8 that move bounds. A lam per edge takes 11 more.
//
// Samples are taken in groups. The samples of a group are summed separately, and the rounding error
// of adding that to the sum is carried along, so that the error of a sum does not grow with its
// length. A group starts after the first sample of the segment, so that the numbers do not depend
// on which lane searches. A sample that is NaN sets no bounds: samples after a piece are read as
// NaN.
//
// The last sample of a row may set bounds like any other: the value that the end requires is
// between those that it sets.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

inline constexpr int kGroup = 6;

/// How a piece of a row ends: after how many samples, and with which dual variable.
template <class T>
struct PieceEnd {
  T length;
  T u;
};

/// Where a segment ends, and the dual variable there: lam where the string turns down, -lam where
/// it turns up, and the required one at the end of the piece.
template <class T>
struct SegmentCut {
  T length;
  T sum;
  bool down;
};

/// The bounds of the value from the samples read so far. Numbers of samples are stored as T, the
/// type in which they are used most.
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
  // These differ only if each edge has its own lam.
  T low_rise;  // what above_low must reach to move low: the growth of lam since low was set
  T high_rise;
  T low_limit;  // the sample, adjusted to the previous lam: low rises no further
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
  // Evaluated once for both: the first move cannot change it, as a floor is never above its
  // ceiling.
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

/// The arithmetic of a search in plain C++.
template <class T>
struct PlainArithmetic {
  T zero;  // 0 and 1, which a device's arithmetic needs as values that are opaque to the compiler
  T one;

  static constexpr T reciprocal(T length) noexcept { return 1 / length; }
  static constexpr T divide(T a, T length) noexcept { return a / length; }
  /// (total + u) / length: a bound.
  static constexpr T quotient(T total, T u, T share) noexcept { return (total + u) * share; }
  static constexpr std::int32_t to_int(T whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
  /// Whether a condition is true for any of the lanes that run together.
  static constexpr bool any_lane(bool condition) noexcept { return condition; }

  template <bool kMayHaveCrossed>
  constexpr void tighten(Bounds<T>& bounds, const NextSample<T>& next) const noexcept {
    tighten_bounds<kMayHaveCrossed, PlainArithmetic>(bounds, next);
  }
};

/// `Arithmetic` is PlainArithmetic or does the same faster; bounds need not be rounded correctly,
/// as no value depends on them.
template <class T, class Arithmetic>
struct SlopeSearch {
  using ArithmeticType = Arithmetic;
  static constexpr bool kFromFirst = sizeof(T) == sizeof(float);

  T u_start;
  T floor_u;  // u_start - lam and u_start + lam, if lam is one for the row
  T ceiling_u;
  T last_lam;  // if each edge has its own: of the last edge read,
  T low_lam;   // and of those where the bounds were set
  T high_lam;
  T origin;  // kFromFirst: the first sample, which sums and bounds are counted from; otherwise 0
  T length;
  T sum;
  T rest;  // the error of the sum
  Bounds<T> bounds;

  /// Begins a segment with the sample `first`; lam is that of the edge after it.
  constexpr void begin(T first, T u, T lam) noexcept {
    u_start = u;
    floor_u = u - lam;
    ceiling_u = u + lam;
    last_lam = low_lam = high_lam = lam;
    origin = kFromFirst ? first : T(0);
    length = 1;
    sum = kFromFirst ? T(0) : first;
    rest = 0;
    bounds = {sum + floor_u, sum + ceiling_u, 1, 1, sum, sum, 0, 0};
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
      const T sample = counted(samples[j]);
      part += sample;
      sum = before + part;
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
    rest = (before - sum) + part;
  }

  [[nodiscard]] constexpr bool crossed() const noexcept { return bounds.low > bounds.high; }

  /// The cut of bounds that have crossed.
  [[nodiscard]] constexpr SegmentCut<T> cut() const noexcept {
    const bool down = bounds.low_length < bounds.high_length;
    return cut_at(down ? bounds.low_length : bounds.high_length,
                  down ? bounds.low_sum : bounds.high_sum, down);
  }

  /// The state before the last group of a piece, which its end needs.
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

  /// The cut if the piece has ended by now, possibly at its end. `samples` are its last group;
  /// those after the piece are NaN, and have been counted in the numbers of samples.
  template <class Lams>
  [[nodiscard]] constexpr SegmentCut<T> cut_at_end(const BeforeGroup& before,
                                                   const T (&samples)[kGroup],
                                                   const PieceEnd<T>& end) const noexcept {
    T part = before.rest;
    T above_low = bounds.low_length > before.length ? T(0) : before.above_low;
    T above_high = bounds.high_length > before.length ? T(0) : before.above_high;
    for (int j = 0; j < kGroup; ++j) {  // without branches, which would make lanes diverge
      const T at = before.length + static_cast<T>(j + 1);
      const bool in_piece = at <= end.length;
      const T sample = counted(samples[j]);
      part += in_piece ? sample : T(0);
      above_low += in_piece && at > bounds.low_length ? sample - bounds.low : T(0);
      above_high += in_piece && at > bounds.high_length ? sample - bounds.high : T(0);
    }
    // The end is a sample that allows only one value: end.u takes the place of both lam and -lam. A
    // bound that the last sample set counts as met, whatever rounding does.
    const T lam = ceiling_u - u_start;
    const T low_rise = end.u - (Lams::kUniform ? lam : low_lam);
    const T high_rise = end.u + (Lams::kUniform ? lam : high_lam);
    const bool down = above_low < low_rise && bounds.low_length < end.length;
    const bool up = above_high > high_rise && bounds.high_length < end.length;
    if (down) return cut_at(bounds.low_length, bounds.low_sum, true);
    if (up) return cut_at(bounds.high_length, bounds.high_sum, false);
    return cut_at(end.length, before.sum + part, false);
  }

 private:
  [[nodiscard]] constexpr T counted(T sample) const noexcept {
    return kFromFirst ? sample - origin : sample;
  }
  /// `total` is counted from the origin; with small integers nothing is rounded.
  [[nodiscard]] constexpr SegmentCut<T> cut_at(T at, T total, bool down) const noexcept {
    return {at, kFromFirst ? total + at * origin : total, down};
  }
};

/// The dual variable after a jump over an edge.
template <class T>
[[nodiscard]] constexpr T dual_at_jump(bool down, T lam) noexcept {
  return down ? lam : -lam;
}

/// Whether a jump goes in its direction; a spurious one, due to rounding, does not. With nothing
/// (NaN) on its left, every jump is real.
template <class T>
[[nodiscard]] constexpr bool is_real_jump(bool down, T left, T right) noexcept {
  const T rise = right - left;
  return !((down ? -rise : rise) <= 0);
}

}  // namespace tautstring::detail
