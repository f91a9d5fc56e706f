// Rows that need care: the reasons, and the scratch memory for one that a lane solves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/tuning/tuning_forward.h"

namespace tautstring::detail {

/// Why a row needs care.
enum class CareReason : std::uint8_t {
  unsearchable,   // a lam or a sample that no search takes
  whole_failed,   // the search of the whole row read too many samples again; in pieces it may not
  pieces_failed,  // the reverse, unless the piece was the whole row
  both_failed,
};

/// Every `step`-th element of an array.
template <class T>
struct Strided {
  T* data;
  int step;
  [[nodiscard]] __device__ T& operator[](std::int32_t i) const noexcept {
    return data[static_cast<std::int64_t>(i) * step];
  }
};

/// Scratch memory of one lane: n + 1 sums and the points of two chains.
struct CarefulScratch {
  Strided<double> sums;
  Strided<std::int32_t> lower;
  Strided<std::int32_t> upper;

  [[nodiscard]] static constexpr std::size_t bytes(std::int32_t n) noexcept {
    return (static_cast<std::size_t>(n) + 1) * sizeof(double) +
           2 * static_cast<std::size_t>(n) * sizeof(std::int32_t);
  }
  /// For lane `lane` of `lanes` lanes that share a block of `lanes` times those bytes.
  __device__ CarefulScratch(std::byte* block, std::int32_t n, int lane, int lanes) noexcept
      : sums{reinterpret_cast<double*>(block) + lane, lanes},
        lower{reinterpret_cast<std::int32_t*>(block + sizeof(double) *
                                                          (static_cast<std::size_t>(n) + 1) *
                                                          static_cast<std::size_t>(lanes)) +
                  lane,
              lanes},
        upper{lower.data + static_cast<std::int64_t>(n) * lanes, lanes} {}
};

/// Scratch memory for a row that a warp solves: a value for each sample of its lanes.
struct HardScratch {
  /// Samples in a lane's stretch: a power of two, so that positions are computed by shifts, and at
  /// least one word of codes.
  [[nodiscard]] static constexpr int log_stretch(std::int32_t n) noexcept {
    int log = 4;
    while (n > kLanes << log) ++log;
    return log;
  }
  [[nodiscard]] static constexpr std::int32_t lanes(std::int32_t n) noexcept {
    return ((n - 1) >> log_stretch(n)) + 1;
  }
  [[nodiscard]] static constexpr std::size_t bytes(std::int32_t n) noexcept {
    return static_cast<std::size_t>(lanes(n) << log_stretch(n)) * sizeof(double);
  }
};

/// Bytes per lane for either kind of row.
[[nodiscard]] constexpr std::size_t careful_slot_bytes(std::int32_t n) noexcept {
  return (std::max(CarefulScratch::bytes(n), HardScratch::bytes(n)) + 7) / 8 * 8;
}

}  // namespace tautstring::detail
