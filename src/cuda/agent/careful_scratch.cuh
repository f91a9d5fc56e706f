// Scratch of a row that one lane solves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautline::detail {

/// Every `step`-th element of an array.
template <class T>
struct Strided {
  T* data;
  int step;
  [[nodiscard]] __device__ T& operator[](std::int32_t i) const noexcept {
    return data[static_cast<std::int64_t>(i) * step];
  }
};

/// Scratch of one lane: n + 1 sums and the points of two chains.
struct CarefulScratch {
  Strided<double> sums;
  Strided<std::int32_t> lower;
  Strided<std::int32_t> upper;

  [[nodiscard]] static constexpr std::size_t bytes(std::int32_t n) noexcept {
    return (static_cast<std::size_t>(n) + 1) * sizeof(double) +
           2 * static_cast<std::size_t>(n) * sizeof(std::int32_t);
  }
  /// Lane `lane` of `lanes` that share a block of `lanes` times those bytes.
  __device__ CarefulScratch(std::byte* block, std::int32_t n, int lane, int lanes) noexcept
      : sums{reinterpret_cast<double*>(block) + lane, lanes},
        lower{reinterpret_cast<std::int32_t*>(block + sizeof(double) *
                                                          (static_cast<std::size_t>(n) + 1) *
                                                          static_cast<std::size_t>(lanes)) +
                  lane,
              lanes},
        upper{lower.data + static_cast<std::int64_t>(n) * lanes, lanes} {}
};

}  // namespace tautline::detail
