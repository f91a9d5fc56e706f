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
// Samples are taken in groups of four. Within a group they are summed on their
// own, and what adding a group to the sum loses is carried along: the error of a
// sum does not grow with its length. A group starts behind the segment's first
// sample, so that the numbers do not depend on who searches.
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

/// `Arithmetic` gives reciprocal(length) and multiply_add(a, b, c) = a b + c; neither
/// need be rounded correctly, as no value depends on them.
template <class T, class Arithmetic>
struct SlopeSearch {
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

  /// Takes a group of samples; those at and behind the end of the piece set no bound.
  template <class Lams>
  constexpr void take(const T (&samples)[kGroup], const Lams& lams, T end) noexcept {
    T part = rest;
    const T before = sum;
    T total = sum;
    for (int j = 0; j < kGroup; ++j) {
      part += samples[j];
      total = before + part;
      const T behind = length + static_cast<T>(j + 1);
      const T share = Arithmetic::reciprocal(behind);
      const T mean = total * share;
      const T floor = Arithmetic::multiply_add(u_start - lams[j], share, mean);
      const T ceiling = Arithmetic::multiply_add(u_start + lams[j], share, mean);
      const bool open = low <= high && behind < end;
      if (open && floor >= low) {
        low = floor;
        low_length = behind;
        low_sum = total;
      }
      if (open && ceiling <= high) {
        high = ceiling;
        high_length = behind;
        high_sum = total;
      }
    }
    rest = (before - total) + part;
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
  [[nodiscard]] constexpr SegmentCut<T> cut_at_end(T total, const PieceEnd<T>& end) const noexcept {
    const T value = (total + (u_start - end.u)) / end.length;
    if (value < low) return {Code::down, low_length, low_sum};
    if (value > high) return {Code::up, high_length, high_sum};
    return {Code::continues, end.length, total};
  }
};

/// The value of a segment with these dual variables before and behind it.
template <class T>
[[nodiscard]] constexpr T cut_value(const SegmentCut<T>& cut, T u_start, T u_cut) noexcept {
  return (cut.sum + (u_start - u_cut)) / cut.length;
}

/// The dual variable behind a jump over an edge.
template <class T>
[[nodiscard]] constexpr T dual_at_jump(Code jump, T lam) noexcept {
  return jump == Code::up ? -lam : lam;
}

/// Whether a jump goes the way its code says: one that rounding made up does not.
template <class T>
[[nodiscard]] constexpr bool is_real_jump(Code jump, T left, T right) noexcept {
  return jump == Code::up ? right > left : jump == Code::down ? right < left : true;
}

}  // namespace tautline::detail
