// The slope form of the direct method (slope_search.h) once more, for short lines that a lane
// searches whole and that need not be exact to the last bit: iterates of images. Values are the
// bounds themselves, so that no sums are kept with them, and a line is mirrored where the string
// turns up, so that there is one form of a bound: behind a turn a segment's value lies between
//   R / length   and   (R + 2 lam) / length,   R the sum of its samples
// in the line as it is mirrored there. At the start of the line R is less by lam.
//
// A Source has sample(i), load(i, samples), which reads a group from i on, NaN behind the line,
// and zero(), a 0 that no compiler knows of. A Sink has put(first, is_real, down, value).
#pragma once

#include <cstdint>
#include <limits>

#include "step/slope_search.h"

namespace tautline::detail {

/// What the samples read so far allow.
template <class T>
struct LineBounds {
  T low;
  T high;
  T low_length;
  T high_length;
};

/// What a search computes with, in plain words.
template <class T>
struct PlainLineArithmetic {
  T zero;
  T one;

  static constexpr T reciprocal(T length) noexcept { return 1 / length; }
  static constexpr std::int32_t to_int(T whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
  static constexpr bool any_lane(bool condition) noexcept { return condition; }
  /// `side` is 1 or -1.
  static constexpr T add(T total, T side, T sample) noexcept { return total + side * sample; }

  template <bool kMayHaveCrossed>
  constexpr void tighten(LineBounds<T>& bounds, T total, T behind, T room) const noexcept {
    const T share = reciprocal(behind);
    const T floor = total * share;
    const T ceiling = floor + room * share;
    const bool open = !kMayHaveCrossed || bounds.low <= bounds.high;
    if (open && floor >= bounds.low) {
      bounds.low = floor;
      bounds.low_length = behind;
    }
    if (open && ceiling <= bounds.high) {
      bounds.high = ceiling;
      bounds.high_length = behind;
    }
  }
};

/// Finds the segments of a line of n samples; all lanes of a warp call it together, those that
/// are not active for company. lam is above 0. Groups of kSamples are read at a time.
template <int kSamples, class Arithmetic, class T, class Source, class Sink>
constexpr void search_line(const Source& source, std::int32_t n, T lam, bool active,
                           Sink& sink) noexcept {
  const T zero = source.zero();
  const Arithmetic arithmetic = {zero, zero + T(1)};
  const T room = 2 * lam;
  std::int32_t first = 0;
  std::int32_t next = 1;
  bool runs = active;
  T side = 1;  // -1 where the line is mirrored
  T total = (active ? source.sample(0) : T(0)) - lam;
  T length = 1;
  T left = active ? static_cast<T>(n) : T(0);  // samples from `first` on
  LineBounds<T> bounds = {total, total + room, 1, 1};
  T last_value = std::numeric_limits<T>::quiet_NaN();
  do {
    T samples[kSamples];
    source.load(next, samples);
    const T total_before = total;
    const auto take = [&]<bool kMayHaveCrossed>(int j) {
      total = arithmetic.add(total, side, samples[j]);
      arithmetic.template tighten<kMayHaveCrossed>(bounds, total, length + static_cast<T>(j + 1),
                                                   room);
    };
    take.template operator()<false>(0);
    for (int j = 1; j < kSamples; ++j) take.template operator()<true>(j);
    const T taken = left - length;  // samples of the line that were left before the group
    length += static_cast<T>(kSamples);
    next += runs ? kSamples : 0;
    bool crossed = bounds.low > bounds.high;
    if (runs && !crossed && taken <= static_cast<T>(kSamples)) {
      T end = total_before;
      for (int j = 0; j < kSamples; ++j) {
        if (static_cast<T>(j) < taken) end = arithmetic.add(end, side, samples[j]);
      }
      const T value = (end + lam) * Arithmetic::reciprocal(left);
      // A bound that the last sample set is met, whatever rounding says.
      const bool is_low = value < bounds.low && bounds.low_length < left;
      const bool is_high = value > bounds.high && bounds.high_length < left;
      crossed = true;
      if (is_low) {
        bounds.high_length = left;
      } else if (is_high) {
        bounds.low_length = left;
      } else {
        bounds.low = value;
        bounds.low_length = left;
        bounds.high_length = left;
      }
    }
    if (runs && crossed) {
      const bool is_low = bounds.low_length < bounds.high_length;
      const T cut = is_low ? bounds.low_length : bounds.high_length;
      const bool ends = cut == left;
      const T value = side * (is_low || ends ? bounds.low : bounds.high);
      const std::int32_t behind = first + Arithmetic::to_int(cut);
      const T sample = ends ? T(0) : source.sample(behind);
      const bool down = first > 0 && side > 0;
      const bool is_real = is_real_jump(down, last_value, value);
      sink.put(first, is_real, down, value);
      last_value = is_real ? value : last_value;
      side = is_low ? side : -side;
      first = behind;
      next = behind + 1;
      left -= cut;
      runs = !ends;
      total = side * sample;
      length = 1;
      bounds = {total, total + room, 1, 1};
    }
  } while (arithmetic.any_lane(runs));
}

}  // namespace tautline::detail
