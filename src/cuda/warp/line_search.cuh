// The arithmetic of step/line_search.h on a device: see PlainLineArithmetic for what it stands
// for, and search.cuh for why it is written as it is.
#pragma once

#include "cuda/warp/forward_rows.cuh"
#include "step/line_search.h"

namespace tautstring::detail {

struct DeviceLineArithmetic {
  float zero;
  float one;

  static __device__ bool any_lane(bool condition) noexcept {
    return __any_sync(kWarp, condition) != 0;
  }
  static __device__ float reciprocal(float length) noexcept {
    float share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(length));
    return share;
  }
  static __device__ float add(float total, float side, float sample) noexcept {
    return __fmaf_rn(side, sample, total);
  }
  /// A whole number below 2^23.
  static __device__ std::int32_t to_int(float whole) noexcept {
    return __float_as_int(whole + 0x1p23F) & 0x7FFFFF;
  }

  template <bool kMayHaveCrossed>
  __device__ void tighten(LineBounds<float>& b, float total, float behind,
                          float room) const noexcept {
    if constexpr (kMayHaveCrossed) {
      asm("{.reg .pred o, p, q; .reg .f32 s, f, c;\n"
          "setp.le.f32 o, %0, %1;\n"
          "rcp.approx.ftz.f32 s, %4; mul.f32 f, %5, s; fma.rn.f32 c, %6, s, f;\n"
          "setp.ge.and.f32 p, f, %0, o; setp.le.and.f32 q, c, %1, o;\n"
          "@p add.f32 %0, f, %7; @p add.f32 %2, %4, %7;\n"
          "@q mul.f32 %1, c, %8; @q mul.f32 %3, %4, %8;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length)
          : "f"(behind), "f"(total), "f"(room), "f"(zero), "f"(one));
    } else {
      asm("{.reg .pred p, q; .reg .f32 s, f, c;\n"
          "rcp.approx.ftz.f32 s, %4; mul.f32 f, %5, s; fma.rn.f32 c, %6, s, f;\n"
          "setp.ge.f32 p, f, %0; setp.le.f32 q, c, %1;\n"
          "@p add.f32 %0, f, %7; @p add.f32 %2, %4, %7;\n"
          "@q mul.f32 %1, c, %8; @q mul.f32 %3, %4, %8;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length)
          : "f"(behind), "f"(total), "f"(room), "f"(zero), "f"(one));
    }
  }
};

}  // namespace tautstring::detail
