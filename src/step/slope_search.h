// The direct method in its slope form: the same search as direct.h with half of
// its additions, for processors where many lanes wait for one another. Shared by
// host and device; knows only the samples it is given.
//
// Behind `length` samples of a segment that sum to `sum`, with the dual variable
// u_start before it, the segment's value v leads to u_start + sum - v length. That
// must stay within [-lam, lam], so v lies between
//   (sum + u_start - lam) / length   and   (sum + u_start + lam) / length
// for every length read so far: between `low` and `high`. Once low > high no value
// works: the segment ended where the older of the two bounds was set, with that
// bound as its value, and the string turns away from it.
//
// Samples are taken in groups. In long rows those of a group are summed on their own and
// what adding that to the sum loses is carried along, so that the error of a sum does not
// grow with its length. A group starts behind the segment's first sample, so that the
// numbers do not depend on who searches. A sample that is NaN sets no bounds: it stands
// for those behind a piece.
//
// The last sample of a row may set bounds like any other: the value that the end asks
// for lies between those that it sets.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

inline constexpr int kGroup = 6;

/// How a piece of a row ends: behind so many samples, with this dual variable.
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
};

/// What a search computes with, in plain words.
template <class T>
struct PlainArithmetic {
  T zero;  // 0 and 1, which a device's arithmetic needs as numbers that no compiler knows
  T one;

  static constexpr T reciprocal(T length) noexcept { return 1 / length; }
  static constexpr T divide(T a, T length) noexcept { return a / length; }
  /// (total + u) / length: a bound, or what the end of a piece asks for.
  static constexpr T quotient(T total, T u, T share) noexcept { return (total + u) * share; }
  static constexpr std::int32_t to_int(T whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
  /// Whether a condition holds for any of the lanes that go together.
  static constexpr bool any_lane(bool condition) noexcept { return condition; }

  /// Takes one more sample into account: `total` is the sum of `behind` samples, floor_u and
  /// ceiling_u are u_start - lam and u_start + lam.
  template <bool kMayHaveCrossed>
  constexpr void tighten(Bounds<T>& bounds, T total, T behind, T floor_u,
                         T ceiling_u) const noexcept {
    const T share = reciprocal(behind);
    const T floor = quotient(total, floor_u, share);
    const T ceiling = quotient(total, ceiling_u, share);
    const bool open = !kMayHaveCrossed || bounds.low <= bounds.high;
    if (open && floor >= bounds.low) {
      bounds.low = floor;
      bounds.low_length = behind;
      bounds.low_sum = total;
    }
    // The first of the two cannot have closed it: floor <= ceiling.
    if (open && ceiling <= bounds.high) {
      bounds.high = ceiling;
      bounds.high_length = behind;
      bounds.high_sum = total;
    }
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
  T length;
  T sum;
  T rest;  // what the sum lacks
  Bounds<T> bounds;

  /// Begins a segment with the sample `first`; lam is that of the edge behind it.
  constexpr void begin(T first, T u, T lam) noexcept {
    u_start = u;
    floor_u = u - lam;
    ceiling_u = u + lam;
    length = 1;
    sum = first;
    rest = 0;
    bounds = {first + floor_u, first + ceiling_u, 1, 1, first, first};
  }

  /// Takes a group of samples. lams[j] is that of the edge behind sample j, unless
  /// Lams::kUniform says that it is one for the row.
  template <class Lams>
  constexpr void take(const T (&samples)[kGroup], const Lams& lams,
                      const Arithmetic& arithmetic) noexcept {
    const T before = sum;
    const T length_before = length;
    T part = rest;
    const auto take_one = [&]<bool kMayHaveCrossed>(int j) {
      if (kCarriesRest) {
        part += samples[j];
        sum = before + part;
      } else {
        sum += samples[j];
      }
      length = length_before + static_cast<T>(j + 1);
      arithmetic.template tighten<kMayHaveCrossed>(bounds, sum, length,
                                                   Lams::kUniform ? floor_u : u_start - lams[j],
                                                   Lams::kUniform ? ceiling_u : u_start + lams[j]);
    };
    take_one.template operator()<false>(0);
    for (int j = 1; j < kGroup; ++j) take_one.template operator()<true>(j);
    if (kCarriesRest) rest = (before - sum) + part;
  }
  /// What the sum was before the group, with the first `count` of its samples.
  [[nodiscard]] static constexpr T total(T sum_before, T rest_before, const T (&samples)[kGroup],
                                         std::int32_t count) noexcept {
    T result = kCarriesRest ? rest_before : sum_before;
    for (int j = 0; j < kGroup; ++j) {
      if (j < count) result += samples[j];
    }
    return kCarriesRest ? sum_before + result : result;
  }

  [[nodiscard]] constexpr bool crossed() const noexcept { return bounds.low > bounds.high; }

  /// The cut of bounds that have crossed.
  [[nodiscard]] constexpr SegmentCut<T> cut() const noexcept {
    const bool down = bounds.low_length < bounds.high_length;
    return {down ? bounds.low_length : bounds.high_length, down ? bounds.low_sum : bounds.high_sum,
            down};
  }

  /// The same where the piece has ended first: perhaps with it. `total` is the sum of all of
  /// it.
  [[nodiscard]] constexpr SegmentCut<T> cut_at_end(T total, const PieceEnd<T>& end) const noexcept {
    // As bounds are computed, so that one which is met is met to the last bit.
    const T value =
        Arithmetic::quotient(total, u_start - end.u, Arithmetic::reciprocal(end.length));
    // A bound that the last sample set is met, whatever rounding says.
    const bool down = value < bounds.low && bounds.low_length < end.length;
    const bool up = value > bounds.high && bounds.high_length < end.length;
    return {down ? bounds.low_length : (up ? bounds.high_length : end.length),
            down ? bounds.low_sum : (up ? bounds.high_sum : total), down};
  }
};

/// The dual variable behind a jump over an edge.
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
