// A backward call in the form that kernels take.
#pragma once

#include <cstdint>

#include "cuda/tuning/tuning_backward.h"
#include "cuda/warp/image_step.cuh"
#include "cuda/warp/placed_rows.cuh"
#include "cuda/warp/storage.cuh"

namespace tautstring::detail {

/// What a tile of a long row passes to its neighbours: the sums before its first segment start and
/// from its last one on.
struct TileSums {
  double head;
  double tail;  // of the whole tile if it has no start
  double grad_lam;
  std::int32_t first_start;  // -1: none
  std::int32_t last_start;
};

/// What is done with the means.
enum class BackwardOutput : std::uint8_t {
  gradient,       // of x; in sharp mode, the incoming gradients mirrored at the means
  next_incoming,  // for a pass over images: see ImageStep
};

/// Members that only one output needs.
template <class Storage, BackwardOutput kOutput>
struct BackwardImages {};
template <class Storage>
struct BackwardImages<Storage, BackwardOutput::next_incoming> {
  ImageGradients<Storage> images;  // with the layout of grad_y and grad_x
};

template <class StorageType, BackwardOutput kOutputOfCall = BackwardOutput::gradient>
struct BackwardRows : BackwardImages<StorageType, kOutputOfCall> {
  using Storage = StorageType;
  static constexpr BackwardOutput kOutput = kOutputOfCall;

  std::int64_t count;
  std::int32_t n;
  std::int32_t row_words;   // of codes
  std::int64_t word_count;  // in all rows
  std::int32_t tile_count;  // per row
  BackwardShape shape;
  const std::uint32_t* partition;
  PlacedRows<const Storage> grad_y;
  PlacedRows<Storage> grad_x;
  bool wants_x;
  bool sharp;
  DType lam_dtype;
  PlacedRows<const void* const> lam;  // offsets only
  void* lam_data;                     // null: not wanted
  TileSums* tiles;                    // null: rows are no longer than a tile
};

/// The only place where gradients of lam are written.
template <class Call>
__device__ void store_grad_lam(const Call& call, std::int64_t at, double value) noexcept {
  switch (call.lam_dtype) {
    case DType::float16: static_cast<__half*>(call.lam_data)[at] = narrow<__half>(value); return;
    case DType::bfloat16:
      static_cast<__nv_bfloat16*>(call.lam_data)[at] = narrow<__nv_bfloat16>(value);
      return;
    case DType::float32: static_cast<float*>(call.lam_data)[at] = narrow<float>(value); return;
    case DType::float64: static_cast<double*>(call.lam_data)[at] = value; return;
  }
}

}  // namespace tautstring::detail
