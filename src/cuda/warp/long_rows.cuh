// Rows that do not fit in a warp, in the form that kernels take, with their part of the workspace.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/tuning/tuning_long.h"
#include "cuda/warp/forward_rows.cuh"

namespace tautstring::detail {

/// How a long row is handled. Written during the search.
enum class LongRowKind : std::int32_t { searched = 0, careful = 1, nan = 2 };

/// `Call` is a ForwardRows.
template <class Call>
struct LongRows {
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;
  static constexpr std::int32_t kNowhere = std::numeric_limits<std::int32_t>::min();

  Call rows;
  std::int32_t chunk;        // samples at the beginning of a lane's work
  std::int32_t chunks;       // per row
  LongRowKind* kinds;        // per row
  std::int32_t* starts;      // per chunk: where its lane begins, negative after a jump up; kNowhere
  std::uint64_t* meets;      // per chunk: the values that two lanes exchange where its piece begins
  std::uint32_t* codes;      // the partition, or memory in place of it
  T* values;                 // per element, set only at the starts of segments
  std::byte* careful_block;  // slots for rows that need care, one after the other
  std::int64_t careful_slots;

  [[nodiscard]] __device__ std::uint32_t* codes_of(std::int64_t row) const noexcept {
    return codes + row * ((rows.shape.n - 1) / 16 + 1);
  }
  /// Sets the kind of a row to the worst that any part of it reports.
  __device__ void tell(std::int64_t row, LongRowKind kind) const noexcept {
    atomicMax(reinterpret_cast<std::int32_t*>(kinds) + row, static_cast<std::int32_t>(kind));
  }
};

}  // namespace tautstring::detail
