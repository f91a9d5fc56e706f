// A variant of the slope form of the direct method (slope_search.h) for short lines that one lane
// searches as a whole and that need not be exact to the last bit: iterates of images. Values are
// the bounds themselves, so that no sums are kept with them. A line is mirrored where the string
// turns up, so that there is only one form of a bound: after a turn, the value of a segment is
// between
//   R / length   and   (R + 2 lam) / length,   R the sum of its samples
// in the mirrored line. At the start of the line R is smaller by lam.
//
// Whether a sample moves a bound is decided as in slope_search.h, which keeps runs of equal samples
// whole. A sample takes 19 operations; it would take 12 if quotients were compared.
//
// A Source has the type Place (where a sample is), place(i), sample(place) (NaN after the line),
// load(place, samples), which reads the group after a place (NaN after the line), kStep, from one
// place to the next, and zero(), a 0 that is opaque to the compiler. A Sink has put(place, first,
// is_real, down, value); `down` has no meaning if first is 0.
#pragma once

#include <cstdint>
#include <limits>

#include "step/slope_search.h"

namespace tautstring::detail {

/// The bounds of the value from the samples read so far.
template <class T>
struct LineBounds {
  T low;
  T high;
  T low_length;
  T high_length;
  T above_low;  // the samples read since then, counted from the bound
  T above_high;
};

/// Takes one more sample into account: `total` is R up to it, of `length` samples.
template <bool kMayHaveCrossed, class Arithmetic, class T>
constexpr void tighten_line_bounds(LineBounds<T>& bounds, T sample, T total, T length,
                                   T room) noexcept {
  const T share = Arithmetic::reciprocal(length);
  const T floor = total * share;
  const T ceiling = floor + room * share;
  const bool open = !kMayHaveCrossed || bounds.low <= bounds.high;
  bounds.above_low += sample - bounds.low;
  bounds.above_high += sample - bounds.high;
  if (open && bounds.above_low >= 0) {
    bounds.low = floor < sample ? floor : sample;
    bounds.low_length = length;
    bounds.above_low = 0;
  }
  if (open && bounds.above_high <= 0) {
    bounds.high = ceiling > sample ? ceiling : sample;
    bounds.high_length = length;
    bounds.above_high = 0;
  }
}

/// The arithmetic of a search in plain C++.
template <class T>
struct PlainLineArithmetic {
  T zero;
  T one;

  static constexpr T reciprocal(T length) noexcept { return 1 / length; }
  static constexpr std::int32_t to_int(T whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
  static constexpr bool any_lane(bool condition) noexcept { return condition; }

  template <bool kMayHaveCrossed>
  constexpr void tighten(LineBounds<T>& bounds, T sample, T total, T length,
                         T room) const noexcept {
    tighten_line_bounds<kMayHaveCrossed, PlainLineArithmetic>(bounds, sample, total, length, room);
  }
};

/// Finds the segments of a line of n samples; all lanes of a warp must call it together, including
/// those that are not active. lam is above 0. Groups of kSamples are read at a time.
template <int kSamples, class Arithmetic, class T, class Source, class Sink>
constexpr void search_line(const Source& source, std::int32_t n, T lam, bool active,
                           Sink& sink) noexcept {
  constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  const T zero = source.zero();
  const Arithmetic arithmetic = {zero, zero + T(1)};
  const T room = 2 * lam;
  std::int32_t first = 0;
  typename Source::Place start = source.place(0);
  typename Source::Place at = start;                     // of the last sample that was read
  T side = 1;                                            // -1 where the line is mirrored
  T total = active ? source.sample(start) - lam : kNan;  // with NaN no comparison with a bound is
                                                         // ever true
  T length = 1;
  T left = active ? static_cast<T>(n) : T(0);  // samples from `first` on
  LineBounds<T> bounds = {total, total + room, 1, 1, 0, 0};
  T last_value = kNan;
  do {
    T samples[kSamples];
    source.load(at, samples);
    const T total_before = total;
    const auto take = [&]<bool kMayHaveCrossed>(int j) {
      const T sample = side * samples[j];
      total += sample;
      arithmetic.template tighten<kMayHaveCrossed>(bounds, sample, total,
                                                   length + static_cast<T>(j + 1), room);
    };
    take.template operator()<false>(0);
    for (int j = 1; j < kSamples; ++j) take.template operator()<true>(j);
    const T unread = left - length;  // before the group
    length += static_cast<T>(kSamples);
    const bool runs = left > 0;
    if (runs) at += kSamples * Source::kStep;
    if (runs && unread <= static_cast<T>(kSamples) && bounds.low <= bounds.high) {
      const std::uint32_t of_line = (1U << Arithmetic::to_int(unread)) - 1;
      T end = total_before;
      for (int j = 0; j < kSamples; ++j) {
        if ((of_line & 1U << j) != 0) end += side * samples[j];
      }
      const T value = (end + lam) * Arithmetic::reciprocal(left);
      // The end acts as a sample that allows only one value.
      const bool is_above = value >= bounds.low;
      const bool is_below = value <= bounds.high;
      if (is_above) {
        bounds.low = is_below ? std::numeric_limits<T>::infinity() : value;
        bounds.low_length = left;
      }
      if (is_below) {
        bounds.high = value;
        bounds.high_length = left;
      }
    }
    if (bounds.low > bounds.high) {
      const bool is_low = bounds.low_length < bounds.high_length;
      const T cut = is_low ? bounds.low_length : bounds.high_length;
      const T bound = is_low ? bounds.low : bounds.high;
      const T value = side * bound;
      const bool is_real = !(side * last_value <= bound);  // else it is an effect of rounding
      sink.put(start, first, is_real, side > 0, value);
      last_value = is_real ? value : last_value;
      side = is_low ? side : -side;
      first += Arithmetic::to_int(cut);
      start = source.place(first);
      at = start;
      left -= cut;
      total = side * source.sample(start);
      length = 1;
      bounds = {total, total + room, 1, 1, 0, 0};
    }
  } while (arithmetic.any_lane(left > 0));
}

}  // namespace tautstring::detail
