// The arithmetic of step/line_search.h on a device. PlainLineArithmetic defines what it computes,
// search.cuh explains why it is written like this.
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
  /// A whole number below 2^23.
  static __device__ std::int32_t to_int(float whole) noexcept {
    return __float_as_int(whole + 0x1p23F) & 0x7FFFFF;
  }

  template <bool kMayHaveCrossed>
  __device__ void tighten(LineBounds<float>& b, float sample, float total, float length,
                          float room) const noexcept {
    if constexpr (kMayHaveCrossed) {
      asm("{.reg .pred o, p, q; .reg .f32 s, f, c, l, h;\n"
          "setp.le.f32 o, %0, %1;\n"
          "sub.f32 l, %6, %0; add.f32 %4, %4, l; sub.f32 h, %6, %1; add.f32 %5, %5, h;\n"
          "rcp.approx.ftz.f32 s, %8; mul.f32 f, %7, s; fma.rn.f32 c, %9, s, f;\n"
          "setp.ge.and.f32 p, %4, 0f00000000, o; setp.le.and.f32 q, %5, 0f00000000, o;\n"
          "@p min.f32 %0, f, %6; @p add.f32 %2, %8, %10; @p mul.f32 %4, %4, %10;\n"
          "@q max.f32 %1, c, %6; @q mul.f32 %3, %8, %11; @q mul.f32 %5, %5, %10;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.above_low),
            "+f"(b.above_high)
          : "f"(sample), "f"(total), "f"(length), "f"(room), "f"(zero), "f"(one));
    } else {
      asm("{.reg .pred p, q; .reg .f32 s, f, c, l, h;\n"
          "sub.f32 l, %6, %0; add.f32 %4, %4, l; sub.f32 h, %6, %1; add.f32 %5, %5, h;\n"
          "rcp.approx.ftz.f32 s, %8; mul.f32 f, %7, s; fma.rn.f32 c, %9, s, f;\n"
          "setp.ge.f32 p, %4, 0f00000000; setp.le.f32 q, %5, 0f00000000;\n"
          "@p min.f32 %0, f, %6; @p add.f32 %2, %8, %10; @p mul.f32 %4, %4, %10;\n"
          "@q max.f32 %1, c, %6; @q mul.f32 %3, %8, %11; @q mul.f32 %5, %5, %10;}"
          : "+f"(b.low), "+f"(b.high), "+f"(b.low_length), "+f"(b.high_length), "+f"(b.above_low),
            "+f"(b.above_high)
          : "f"(sample), "f"(total), "f"(length), "f"(room), "f"(zero), "f"(one));
    }
  }
};

}  // namespace tautstring::detail
