// The arithmetic of the search on a device. step/piece_search.h uses it, PlainArithmetic defines
// what it computes.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "step/piece_search.h"

namespace tautstring::detail {

/// Bounds by approximate reciprocals say how far samples are from them, never what a value is.
/// Values are quotients, rounded correctly.
template <class T>
struct DeviceArithmetic;

template <>
struct DeviceArithmetic<float> {
  float zero;  // see tighten
  float one;

  static __device__ bool any_lane(bool condition) noexcept {
    return __any_sync(kWarp, condition) != 0;
  }

  static __device__ float reciprocal(float length) noexcept {
    float share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(length));
    return share;
  }
  static __device__ float quotient(float total, float u, float share) noexcept {
    return __fmaf_rn(u, share, total * share);
  }
  /// tighten_bounds in machine instructions: bounds move by additions and multiplications under a
  /// predicate, as selects go through a pipe of half the width. `zero` and `one` are not
  /// known to any compiler, which would see through it.
  template <bool kMayHaveCrossed>
  __device__ void tighten(Bounds<float>& b, const NextSample<float>& next) const noexcept {
    // Its only difference from the other form is that what has crossed stays as it is.
    if constexpr (kMayHaveCrossed) {
      asm volatile(
          "{.reg .pred o, p, q; .reg .f32 s, m, f, c, l, h;\n"
          "setp.le.f32 o, %0, %1;\n"
          "sub.f32 l, %8, %0; add.f32 %6, %6, l; sub.f32 h, %8, %1; add.f32 %7, %7, h;\n"
          "rcp.approx.ftz.f32 s, %10; mul.f32 m, %9, s;\n"
          "fma.rn.f32 f, %11, s, m; fma.rn.f32 c, %12, s, m;\n"
          "setp.ge.and.f32 p, %6, %13, o; setp.le.and.f32 q, %7, %14, o;\n"
          "@p min.f32 %0, f, %15; @p add.f32 %2, %10, %17; @p add.f32 %4, %9, %17;\n"
          "@p mul.f32 %6, %6, %17;\n"
          "@q max.f32 %1, c, %16; @q mul.f32 %3, %10, %18; @q mul.f32 %5, %9, %18;\n"
          "@q mul.f32 %7, %7, %17;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum), "+f"(b.above_low), "+f"(b.above_high)
          : "f"(next.value), "f"(next.total), "f"(next.length), "f"(next.floor_u),
            "f"(next.ceiling_u), "f"(next.low_rise), "f"(next.high_rise), "f"(next.low_limit),
            "f"(next.high_limit), "f"(zero), "f"(one));
    } else {
      asm volatile(
          "{.reg .pred p, q; .reg .f32 s, m, f, c, l, h;\n"
          "sub.f32 l, %8, %0; add.f32 %6, %6, l; sub.f32 h, %8, %1; add.f32 %7, %7, h;\n"
          "rcp.approx.ftz.f32 s, %10; mul.f32 m, %9, s;\n"
          "fma.rn.f32 f, %11, s, m; fma.rn.f32 c, %12, s, m;\n"
          "setp.ge.f32 p, %6, %13; setp.le.f32 q, %7, %14;\n"
          "@p min.f32 %0, f, %15; @p add.f32 %2, %10, %17; @p add.f32 %4, %9, %17;\n"
          "@p mul.f32 %6, %6, %17;\n"
          "@q max.f32 %1, c, %16; @q mul.f32 %3, %10, %18; @q mul.f32 %5, %9, %18;\n"
          "@q mul.f32 %7, %7, %17;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum), "+f"(b.above_low), "+f"(b.above_high)
          : "f"(next.value), "f"(next.total), "f"(next.length), "f"(next.floor_u),
            "f"(next.ceiling_u), "f"(next.low_rise), "f"(next.high_rise), "f"(next.low_limit),
            "f"(next.high_limit), "f"(zero), "f"(one));
    }
  }
  /// a / length rounded as in IEEE 754, except for quotients within 2^-44 of the midpoint between
  /// two numbers. No quotient of integers below 2^24 is that close.
  static __device__ float divide(float a, float length) noexcept {
    const float share = reciprocal(length);
    const float quotient = a * share;
    return __fmaf_rn(__fmaf_rn(-length, quotient, a), share, quotient);
  }
  /// For integers below 2^23.
  static __device__ std::int32_t to_int(float whole) noexcept {
    return __float_as_int(whole + 0x1p23F) & 0x7FFFFF;
  }
};

template <>
struct DeviceArithmetic<double> {
  double zero;
  double one;

  static __device__ bool any_lane(bool condition) noexcept {
    return __any_sync(kWarp, condition) != 0;
  }
  static __device__ double reciprocal(double length) noexcept {
    double share;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(share) : "d"(length));  // 20 bits
    share = __fma_rn(__fma_rn(-length, share, 1.0), share, share);
    return __fma_rn(__fma_rn(-length, share, 1.0), share, share);
  }
  static __device__ double quotient(double total, double u, double share) noexcept {
    return __fma_rn(u, share, total * share);
  }
  template <bool kMayHaveCrossed>
  __device__ void tighten(Bounds<double>& bounds, const NextSample<double>& next) const noexcept {
    tighten_bounds<kMayHaveCrossed, DeviceArithmetic>(bounds, next);
  }
  static __device__ double divide(double a, double length) noexcept { return a / length; }
  static __device__ std::int32_t to_int(double whole) noexcept {
    return static_cast<std::int32_t>(whole);
  }
};

/// The search for rows that fit in a warp. All kernels use the same one.
template <class T>
using DeviceSearch = SlopeSearch<T, DeviceArithmetic<T>>;

/// The value that is subtracted from the samples of a row, so that sums are small if its range is:
/// the first sample. The search in float64 sums samples as they are (see step/slope_search.h), so
/// there it is halfway to the second sample; otherwise the sums of a row that alternates between
/// two values would grow with every other sample.
template <class T>
[[nodiscard]] __device__ T origin_of_row(T first, T second) noexcept {
  return sizeof(T) > sizeof(float) ? first / 2 + second / 2 : first;
}
template <class T, class Storage>
[[nodiscard]] __device__ T origin_of_row(const Storage* row, std::int64_t stride,
                                         std::int32_t n) noexcept {
  return origin_of_row(widen<T>(row[0]), widen<T>(row[n > 1 ? stride : 0]));
}

/// The lams that a search takes. Rows with others need care.
template <class T>
struct SearchedLam {
  static constexpr T kLargest = sizeof(T) == 4 ? T(0x1p100) : T(0x1p900);
  static constexpr T kSmallest = 1 / kLargest;
};

}  // namespace tautstring::detail
