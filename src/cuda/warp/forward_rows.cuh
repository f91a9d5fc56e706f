// A forward call as kernels see it.
#pragma once

#include <cstdint>

#include "cuda/tuning/tuning_forward.h"
#include "cuda/warp/placed_rows.cuh"
#include "cuda/warp/storage.cuh"

namespace tautline::detail {

inline constexpr unsigned kWarp = 0xFFFFFFFFU;

/// What kernels are told of a forward call.
template <class Storage>
struct ForwardRows {
  std::int64_t count;
  ForwardShape shape;
  PlacedRows<const Storage> x;
  PlacedRows<Storage> y;
  bool whole_vectors;  // 16 bytes of arithmetic at a time, in x and in y
  bool whole_words;    // 16 bytes of codes at a time
  /// How far the chunks of a warp's lanes lie apart in memory; 0: not evenly.
  std::int64_t x_chunks_apart;
  std::int64_t y_chunks_apart;
  bool sharp;
  bool can_stream;  // y is not needed for x, nor x for y
  bool may_stream;  // and there are rows for many lanes of a warp
  DType lam_dtype;
  double lam_number;
  PlacedRows<const void* const> lam;  // offsets only
  const void* lam_data;               // null: lam_number
  std::uint32_t* partition;           // null: not wanted
};

template <class T>
[[nodiscard]] __device__ T load_as(const void* data, DType dtype, std::int64_t at) noexcept {
  switch (dtype) {
    case DType::float16: return widen<T>(static_cast<const __half*>(data)[at]);
    case DType::bfloat16: return widen<T>(static_cast<const __nv_bfloat16*>(data)[at]);
    case DType::float32: return widen<T>(static_cast<const float*>(data)[at]);
    case DType::float64: break;
  }
  return widen<T>(static_cast<const double*>(data)[at]);
}

}  // namespace tautline::detail
