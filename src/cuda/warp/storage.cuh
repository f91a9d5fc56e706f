// Conversion of elements between storage types and the arithmetic of a kernel.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

#include "step/small_float.h"
#include "tautstring/view.h"

namespace tautstring::detail {

/// float64 is computed in float64, all other types in float32.
template <class Storage>
using ArithmeticOf = std::conditional_t<std::is_same_v<Storage, double>, double, float>;

template <class T, class Storage>
[[nodiscard]] __device__ T widen(Storage value) noexcept {
  if constexpr (std::is_floating_point_v<Storage>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<Storage, __half>) {
    return static_cast<T>(__half2float(value));
  } else {
    return static_cast<T>(__bfloat162float(value));
  }
}

/// Rounds once, to nearest even.
template <class Storage, class T>
[[nodiscard]] __device__ Storage narrow(T value) noexcept {
  if constexpr (std::is_floating_point_v<Storage>) {
    return static_cast<Storage>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    // The processor's instruction for float64 to bfloat16 rounds to float32 on the way.
    if constexpr (std::is_same_v<Storage, __half>) {
      return __ushort_as_half(Float16(value).bits);
    } else {
      return __ushort_as_bfloat16(BFloat16(value).bits);
    }
  } else if constexpr (std::is_same_v<Storage, __half>) {
    return __float2half_rn(value);
  } else {
    return __float2bfloat16_rn(value);
  }
}

/// Loads 16 bytes that this kernel does not write, so that stores do not delay the load.
template <class Packed>
[[nodiscard]] __device__ Packed load_constant(const void* from) noexcept {
  static_assert(sizeof(Packed) == sizeof(uint4));
  const uint4 bits = __ldg(static_cast<const uint4*>(from));
  Packed packed;
  memcpy(&packed, &bits, sizeof(packed));
  return packed;
}

/// Calls use(Storage{}) with the storage type of a dtype.
template <class Use>
auto with_device_storage(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::float16: return use(__half{});
    case DType::bfloat16: return use(__nv_bfloat16{});
    case DType::float32: return use(float{});
    case DType::float64: break;
  }
  return use(double{});
}

/// On the device, for types that are computed in float32.
template <class Use>
__device__ void with_float32_storage(DType dtype, const Use& use) noexcept {
  switch (dtype) {
    case DType::float16: return use(__half{});
    case DType::bfloat16: return use(__nv_bfloat16{});
    default: return use(float{});
  }
}

}  // namespace tautstring::detail
