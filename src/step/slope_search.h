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
// Samples are taken in groups of four. Within a group they are summed on their own;
// in long pieces what adding a group to the sum loses is carried along, so that the
// error of a sum does not grow with its length. A group starts behind the segment's
// first sample, so that the numbers do not depend on who searches.
//
// The last sample of a row may set bounds like any other: the value that the end asks
// for lies between those that it sets.
#pragma once

#include <cstdint>

#include "tautline/partition.h"

namespace tautline::detail {

inline constexpr int kGroup = 4;

/// How a piece of a row ends: behind so many samples, with this dual variable.
template <class T>
struct PieceEnd {
  T length;
  T u;
};

/// Where a segment ends.
template <class T>
struct SegmentCut {
  Code jump;  // behind it; continues: with its piece
  T length;
  T sum;
};

/// Numbers of samples are kept as T, in which they are needed most.
///
/// `Arithmetic` gives reciprocal(length) and multiply_add(a, b, c) = a b + c, neither of
/// which need be rounded correctly as no value depends on them, and assign_if(condition,
/// target, value).
template <class T, class Arithmetic, bool kCarriesRest>
struct SlopeSearch {
  static constexpr bool kCarries = kCarriesRest;

  T u_start;
  T length;
  T sum;
  T rest;  // what the sum lacks
  T low;
  T high;
  T low_length;  // where the bounds were set
  T high_length;
  T low_sum;
  T high_sum;

  /// Begins a segment with the sample `first`; lam is that of the edge behind it.
  constexpr void begin(T first, T u, T lam) noexcept {
    u_start = u;
    length = 1;
    sum = first;
    rest = 0;
    low = first + (u - lam);
    high = first + (u + lam);
    low_length = high_length = 1;
    low_sum = high_sum = first;
  }

  /// Takes a group of samples. NaN sets no bound, and no sample behind it does.
  template <class Lams>
  constexpr void take(const T (&samples)[kGroup], const Lams& lams,
                      const Arithmetic& arithmetic) noexcept {
    T part = kCarriesRest ? rest + samples[0] : samples[0];
    const T before = sum;
    T total = sum;
    for (int j = 0; j < kGroup; ++j) {
      if (j > 0) part += samples[j];
      total = before + part;
      const T behind = length + static_cast<T>(j + 1);
      const T share = arithmetic.reciprocal(behind);
      const T mean = total * share;
      const T floor = arithmetic.multiply_add(u_start - lams[j], share, mean);
      const T ceiling = arithmetic.multiply_add(u_start + lams[j], share, mean);
      const bool open = j == 0 || low <= high;
      const bool raises = open && floor >= low;
      const bool lowers = open && ceiling <= high;
      arithmetic.assign_if(raises, low, floor);
      arithmetic.assign_if(raises, low_length, behind);
      arithmetic.assign_if(raises, low_sum, total);
      arithmetic.assign_if(lowers, high, ceiling);
      arithmetic.assign_if(lowers, high_length, behind);
      arithmetic.assign_if(lowers, high_sum, total);
    }
    if (kCarriesRest) rest = (before - total) + part;
    sum = total;
    length += static_cast<T>(kGroup);
  }

  [[nodiscard]] constexpr bool crossed() const noexcept { return low > high; }

  /// The cut of bounds that have crossed.
  [[nodiscard]] constexpr SegmentCut<T> cut() const noexcept {
    const bool down = low_length < high_length;
    return {down ? Code::down : Code::up, down ? low_length : high_length,
            down ? low_sum : high_sum};
  }

  /// The same where the piece has ended first. `total` is the sum of all of it.
  [[nodiscard]] constexpr SegmentCut<T> cut_at_end(T total, const PieceEnd<T>& end,
                                                   const Arithmetic& arithmetic) const noexcept {
    const T value = (total + (u_start - end.u)) * arithmetic.reciprocal(end.length);
    // A bound that the last sample set is met, whatever rounding says.
    if (value < low && low_length < end.length) return {Code::down, low_length, low_sum};
    if (value > high && high_length < end.length) return {Code::up, high_length, high_sum};
    return {Code::continues, end.length, total};
  }
};

/// The dual variable behind a jump over an edge.
template <class T>
[[nodiscard]] constexpr T dual_at_jump(Code jump, T lam) noexcept {
  return jump == Code::up ? -lam : lam;
}

/// Whether a jump goes the way its code says: one that rounding made up does not. With
/// nothing (NaN) on its left every jump is real.
template <class T>
[[nodiscard]] constexpr bool is_real_jump(Code jump, T left, T right) noexcept {
  const T rise = right - left;
  return !((jump == Code::down ? -rise : rise) <= 0) || jump == Code::plain;
}

}  // namespace tautline::detail
