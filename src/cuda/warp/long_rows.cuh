// Rows that no warp can hold, as kernels see them, with their part of the workspace.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/tuning/tuning_long.h"
#include "cuda/warp/forward_rows.cuh"

namespace tautstring::detail {

/// What becomes of a long row; written while it is searched.
enum class LongRowKind : std::int32_t { searched = 0, careful = 1, nan = 2 };

/// `Call` is a ForwardRows.
template <class Call>
struct LongRows {
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;
  static constexpr std::int32_t kNowhere = std::numeric_limits<std::int32_t>::min();

  Call rows;
  std::int32_t chunk;        // samples that a lane begins with
  std::int32_t chunks;       // of a row
  LongRowKind* kinds;        // a row
  std::int32_t* starts;      // a chunk: where its lane begins, negative behind a jump up; kNowhere
  std::uint64_t* meets;      // a chunk: what lanes tell one another where its piece begins
  std::uint32_t* codes;      // the partition, or what stands for it
  T* values;                 // an element, only at the starts of segments
  std::byte* careful_block;  // slots for rows that need care, side by side
  std::int64_t careful_slots;

  [[nodiscard]] __device__ std::uint32_t* codes_of(std::int64_t row) const noexcept {
    return codes + row * ((rows.shape.n - 1) / 16 + 1);
  }
  /// The worst that any part of a row says of it is what becomes of it.
  __device__ void tell(std::int64_t row, LongRowKind kind) const noexcept {
    atomicMax(reinterpret_cast<std::int32_t*>(kinds) + row, static_cast<std::int32_t>(kind));
  }
};

}  // namespace tautstring::detail
