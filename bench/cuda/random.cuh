// Random numbers that depend only on a seed and an index, so that any thread can generate any of
// them.
#pragma once

#include <cstdint>

namespace bench {

/// Uniform 64 bits (SplitMix64's finalizer).
__device__ inline std::uint64_t hash(std::uint64_t seed, std::int64_t index) {
  std::uint64_t bits = (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15U;
  bits ^= seed * 0xD1B54A32D192ED03U;
  bits = (bits ^ bits >> 30U) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ bits >> 27U) * 0x94D049BB133111EBU;
  return bits ^ bits >> 31U;
}

/// In [0, 1].
__device__ inline float uniform(std::uint32_t bits) {
  return static_cast<float>(bits) * 0x1p-32F;
}

/// Standard normal, by Box and Muller.
__device__ inline float normal(std::uint64_t seed, std::int64_t index) {
  const std::uint64_t bits = hash(seed, index);
  const float radius_bits = uniform(static_cast<std::uint32_t>(bits >> 32U)) + 0x1p-32F;  // not 0
  const float turn = uniform(static_cast<std::uint32_t>(bits));
  return sqrtf(-2 * logf(radius_bits)) * cospif(2 * turn);
}

}  // namespace bench
