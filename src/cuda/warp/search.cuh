// The arithmetic of the search on a device: see step/piece_search.h, and PlainArithmetic for
// what it stands for.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "step/piece_search.h"

namespace tautstring::detail {

/// Reciprocals of lengths decide where to look, never what a value is. Values are
/// quotients, rounded correctly.
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
  /// In machine instructions: bounds move by additions and multiplications under a
  /// predicate, as selects go through a pipe of half the width. `zero` and `one` are not
  /// known to any compiler, which would see through it.
  template <bool kMayHaveCrossed>
  __device__ void tighten(Bounds<float>& b, float total, float behind, float floor_u,
                          float ceiling_u) const noexcept {
    // Its only difference from the other form is that what has crossed stays as it is.
    if constexpr (kMayHaveCrossed) {
      asm volatile(
          "{.reg .pred o, p, q; .reg .f32 s, m, f, c;\n"
          "setp.le.f32 o, %0, %1;\n"
          "rcp.approx.ftz.f32 s, %6; mul.f32 m, %7, s;\n"
          "fma.rn.f32 f, %8, s, m; fma.rn.f32 c, %9, s, m;\n"
          "setp.ge.and.f32 p, f, %0, o; setp.le.and.f32 q, c, %1, o;\n"
          "@p add.f32 %0, f, %10; @p add.f32 %2, %6, %10; @p add.f32 %4, %7, %10;\n"
          "@q mul.f32 %1, c, %11; @q mul.f32 %3, %6, %11; @q mul.f32 %5, %7, %11;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum)
          : "f"(behind), "f"(total), "f"(floor_u), "f"(ceiling_u), "f"(zero), "f"(one));
    } else {
      asm volatile(
          "{.reg .pred p, q; .reg .f32 s, m, f, c;\n"
          "rcp.approx.ftz.f32 s, %6; mul.f32 m, %7, s;\n"
          "fma.rn.f32 f, %8, s, m; fma.rn.f32 c, %9, s, m;\n"
          "setp.ge.f32 p, f, %0; setp.le.f32 q, c, %1;\n"
          "@p add.f32 %0, f, %10; @p add.f32 %2, %6, %10; @p add.f32 %4, %7, %10;\n"
          "@q mul.f32 %1, c, %11; @q mul.f32 %3, %6, %11; @q mul.f32 %5, %7, %11;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.low_sum),
            "+f"(b.high_sum)
          : "f"(behind), "f"(total), "f"(floor_u), "f"(ceiling_u), "f"(zero), "f"(one));
    }
  }
  /// a / length as IEEE 754 has it, but for quotients within 2^-44 of the middle between two
  /// numbers: none of whole numbers below 2^24 is.
  static __device__ float divide(float a, float length) noexcept {
    const float share = reciprocal(length);
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
  __device__ void tighten(Bounds<double>& b, double total, double behind, double floor_u,
                          double ceiling_u) const noexcept {
    const double share = reciprocal(behind);
    const double floor = quotient(total, floor_u, share);
    const double ceiling = quotient(total, ceiling_u, share);
    const bool open = !kMayHaveCrossed || b.low <= b.high;
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

/// What rows are searched with that a warp holds: one way, whoever searches.
template <class T>
using DeviceSearch = SlopeSearch<T, DeviceArithmetic<T>, sizeof(T) == sizeof(float)>;

/// What the samples of a row are counted from, for sums that are small where its range is: the
/// first one. In float64, whose sums carry nothing along, halfway to the second, or those of a row
/// that goes back and forth would grow with every other sample.
template <class T>
[[nodiscard]] __device__ T origin_of_row(T first, T second) noexcept {
  return sizeof(T) > sizeof(float) ? first / 2 + second / 2 : first;
}
template <class T, class Storage>
[[nodiscard]] __device__ T origin_of_row(const Storage* row, std::int64_t stride,
                                         std::int32_t n) noexcept {
  return origin_of_row(widen<T>(row[0]), widen<T>(row[n > 1 ? stride : 0]));
}

/// The lams that a search takes; rows with others need care.
template <class T>
struct SearchedLam {
  static constexpr T kLargest = sizeof(T) == 4 ? T(0x1p100) : T(0x1p900);
  static constexpr T kSmallest = 1 / kLargest;
};

}  // namespace tautstring::detail
