// The search for jumps by the lanes of a warp, each in its own part of a row. Knows
// samples and edges only through a Source, segments only through a Sink.
//
// A Source has sample(i), lam(i) and load(i, samples) which reads a group of samples from
// i on, anything behind the piece (behind the row NaN, unless searches are pinned), and
// gives their lams back. A Sink has put(first, code, value) for the start of a segment.
//
// The loops end by a vote of the warp: otherwise the compiler makes an inner loop of
// the steps between two jumps, which all lanes leave together.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/warp/forward_rows.cuh"
#include "step/slope_search.h"

namespace tautline::detail {

/// Reciprocals of lengths decide where to look, never what a value is. Values are
/// quotients, rounded correctly.
template <class T>
struct DeviceArithmetic;

template <>
struct DeviceArithmetic<float> {
  float zero;  // see tighten
  float one;

  static __device__ float reciprocal(float length) noexcept {
    float share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(length));
    return share;
  }
  static __device__ float multiply_add(float a, float b, float c) noexcept {
    return __fmaf_rn(a, b, c);
  }
  /// In machine instructions: bounds move by additions and multiplications under a
  /// predicate, as selects go through a pipe of half the width. `zero` and `one` are not
  /// known to any compiler, which would see through it.
  template <bool kMayHaveCrossed>
  __device__ void tighten(Bounds<float>& b, float total, float behind, float floor_u,
                          float ceiling_u, bool counts) const noexcept {
    if constexpr (kMayHaveCrossed) {
      asm volatile(
          "{.reg .pred o, p, q; .reg .f32 s, m, f, c;\n"
          "setp.ne.u32 o, %10, 0; setp.le.and.f32 o, %0, %1, o;\n"
          "rcp.approx.ftz.f32 s, %6; mul.f32 m, %7, s;\n"
          "fma.rn.f32 f, %8, s, m; fma.rn.f32 c, %9, s, m;\n"
          "setp.ge.and.f32 p, f, %0, o; setp.le.and.f32 q, c, %1, o;\n"
          "@p add.f32 %0, f, %11; @p add.f32 %2, %6, %11; @p add.f32 %4, %7, %11;\n"
          "@q mul.f32 %1, c, %12; @q mul.f32 %3, %6, %12; @q mul.f32 %5, %7, %12;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum)
          : "f"(behind), "f"(total), "f"(floor_u), "f"(ceiling_u),
            "r"(static_cast<unsigned>(counts)), "f"(zero), "f"(one));
    } else {
      asm volatile(
          "{.reg .pred o, p, q; .reg .f32 s, m, f, c;\n"
          "setp.ne.u32 o, %10, 0;\n"
          "rcp.approx.ftz.f32 s, %6; mul.f32 m, %7, s;\n"
          "fma.rn.f32 f, %8, s, m; fma.rn.f32 c, %9, s, m;\n"
          "setp.ge.and.f32 p, f, %0, o; setp.le.and.f32 q, c, %1, o;\n"
          "@p add.f32 %0, f, %11; @p add.f32 %2, %6, %11; @p add.f32 %4, %7, %11;\n"
          "@q mul.f32 %1, c, %12; @q mul.f32 %3, %6, %12; @q mul.f32 %5, %7, %12;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum)
          : "f"(behind), "f"(total), "f"(floor_u), "f"(ceiling_u),
            "r"(static_cast<unsigned>(counts)), "f"(zero), "f"(one));
    }
  }
  /// a / length as IEEE 754 has it, for numbers far from the ends of the range.
  static __device__ float divide(float a, float length) noexcept {
    const float near = reciprocal(length);
    const float share = __fmaf_rn(__fmaf_rn(-length, near, 1.0F), near, near);
    const float quotient = a * share;
    return __fmaf_rn(__fmaf_rn(-length, quotient, a), share, quotient);
  }
  /// A whole number below 2^23.
  static __device__ std::int32_t to_int(float whole) noexcept {
    return __float_as_int(whole + 0x1p23F) & 0x7FFFFF;
  }
};

template <>
struct DeviceArithmetic<double> {
  double zero;
  double one;

  static __device__ double reciprocal(double length) noexcept {
    double share;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(share) : "d"(length));  // 20 bits
    share = __fma_rn(__fma_rn(-length, share, 1.0), share, share);
    return __fma_rn(__fma_rn(-length, share, 1.0), share, share);
  }
  static __device__ double multiply_add(double a, double b, double c) noexcept {
    return __fma_rn(a, b, c);
  }
  template <bool kMayHaveCrossed>
  __device__ void tighten(Bounds<double>& b, double total, double behind, double floor_u,
                          double ceiling_u, bool counts) const noexcept {
    const double share = reciprocal(behind);
    const double mean = total * share;
    const double floor = multiply_add(floor_u, share, mean);
    const double ceiling = multiply_add(ceiling_u, share, mean);
    const bool open = counts && (!kMayHaveCrossed || b.low <= b.high);
    const bool raises = open && floor >= b.low;
    const bool lowers = open && ceiling <= b.high;
    b.low = raises ? floor : b.low;
    b.low_length = raises ? behind : b.low_length;
    b.low_sum = raises ? total : b.low_sum;
    b.high = lowers ? ceiling : b.high;
    b.high_length = lowers ? behind : b.high_length;
    b.high_sum = lowers ? total : b.high_sum;
  }
  static __device__ double divide(double a, double length) noexcept { return a / length; }
  static __device__ std::int32_t to_int(double whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
};

/// A lane's part of a row: samples first .. last - 1.
struct Piece {
  std::int32_t first;
  std::int32_t last;
  Code code;   // of its first sample
  Code after;  // of the sample behind it; continues: the row ends
  bool active;
};

/// Searches samples first .. last - 1, group by group; on_cut(search, cut, next) is
/// called where a segment ends, with the sample behind all that were read, and says
/// whether the lane is done. It may move `first` and the search on. Lanes that have
/// nothing to search wait at sample `safe`.
template <class Search, class T, class Source, class OnCut>
__device__ void for_each_cut(const Source& source, std::int32_t& first, std::int32_t last,
                             T u_first, T u_last, bool active, std::int32_t safe,
                             const OnCut& on_cut) noexcept {
  const T zero = source.lam(safe) * T(0);
  const DeviceArithmetic<T> arithmetic = {zero, zero + T(1)};
  bool done = !active;
  if (done) first = safe;
  Search search;
  search.begin(source.sample(first), u_first, source.lam(first));
  std::int32_t next = first + 1;
  do {
    T samples[kGroup];
    const auto lams = source.load(done ? safe : next, samples);
    const T sum_before = search.sum;
    const T rest_before = search.rest;
    search.take(samples, lams, static_cast<T>(last - first), arithmetic);
    next += kGroup;
    if (!done && (search.crossed() || next >= last)) {
      SegmentCut<T> cut = search.cut();
      if (!search.crossed()) {
        T part = Search::kCarries ? rest_before : T(0);
#pragma unroll
        for (int j = 0; j < kGroup; ++j) {
          if (next - kGroup + j < last) part += samples[j];
        }
        cut = search.cut_at_end(sum_before + part, {static_cast<T>(last - first), u_last},
                                arithmetic);
      }
      done = on_cut(search, cut, next);
      next = first + 1;
    }
  } while (__any_sync(kWarp, !done));
}

/// A place that the true search passes, whatever came before it.
struct CommonJump {
  bool found;
  std::int32_t first;  // the sample behind the jump
  Code code;
};

/// Runs two searches from sample `start` > 0, with the dual variable at either end of
/// its range, until both are behind the same jump or beyond `limit`.
template <class Search, class T, class Source>
[[nodiscard]] __device__ CommonJump find_common_jump(const Source& source, std::int32_t start,
                                                     std::int32_t limit, std::int32_t n,
                                                     bool active, std::int32_t safe) noexcept {
  std::int32_t first = start;
  std::int32_t other = start;
  Code code = Code::down;
  Code other_code = Code::up;
  bool found = false;
  const T u_first = active ? source.lam(start - 1) : T(0);
  for_each_cut<Search, T>(
      source, first, n, u_first, T(0), active, safe,
      [&](Search& search, const SegmentCut<T>& cut, std::int32_t /*next*/) {
        if (cut.jump == Code::continues) return true;
        first += DeviceArithmetic<T>::to_int(cut.length);
        code = cut.jump;
        found = first == other && code == other_code;
        if (found || first >= n) return true;
        if (first >= other) {  // the one behind goes on
          const std::int32_t first_of_other = other;
          const Code code_of_other = other_code;
          other = first;
          other_code = code;
          first = first_of_other;
          code = code_of_other;
        }
        if (first >= limit) return true;
        search.begin(source.sample(first), dual_at_jump(code, source.lam(first - 1)),
                     source.lam(first));
        return false;
      });
  return {found, first, code};
}

/// Finds the segments of a piece; returns whether the lane gave up, having read too
/// many samples again.
template <class Search, class T, class Source, class Sink>
__device__ bool search_piece(const Source& source, const Piece& piece, std::int32_t safe,
                             Sink& sink) noexcept {
  std::int32_t first = piece.first;
  const T u_first = piece.active && piece.first > 0
                        ? dual_at_jump(piece.code, source.lam(piece.first - 1))
                        : T(0);
  const T u_last = piece.active && piece.after != Code::continues
                       ? dual_at_jump(piece.after, source.lam(piece.last - 1))
                       : T(0);
  Code code = piece.code;
  T last_value = std::numeric_limits<T>::quiet_NaN();
  constexpr std::int32_t kStartCredit = 256;
  std::int32_t credit = piece.last - piece.first + kStartCredit;
  for_each_cut<Search, T>(
      source, first, piece.last, u_first, u_last, piece.active, safe,
      [&](Search& search, const SegmentCut<T>& cut, std::int32_t next) {
        const std::int32_t length = DeviceArithmetic<T>::to_int(cut.length);
        const bool ends = cut.jump == Code::continues;
        const T u_cut = ends ? u_last : dual_at_jump(cut.jump, source.lam(first + length - 1));
        const T value =
            DeviceArithmetic<T>::divide(cut.sum + (search.u_start - u_cut), cut.length);
        if (is_real_jump(code, last_value, value)) {
          sink.put(first, code, value);
          last_value = value;
        }
        if (ends) return true;
        // As many samples may be read again as the piece has, and four for each that a
        // finished segment has.
        credit += 5 * length - (next - first);
        first += length;
        code = cut.jump;
        search.begin(source.sample(first), u_cut, source.lam(first));
        return credit < 0;
      });
  return piece.active && credit < 0;
}

}  // namespace tautline::detail
