// What the vector code iterates on by Newton's method: rows of one length, a row a lane.
#pragma once

#include <cstdint>

namespace tautline::detail {

/// Longer rows would leave the caches.
inline constexpr std::int32_t kLongestNewtonLane = 4096;
inline constexpr int kMostNewtonLanes = 8;

/// Numbers of a lane: those of a row of n samples and of all rows of pairs that it starts from.
[[nodiscard]] constexpr std::int64_t newton_lane_samples(std::int32_t n) noexcept {
  return 2 * std::int64_t{n} + 32;
}

/// Number k of lane j is at [k * lanes + j]; each array has newton_lane_samples a lane, its rows'
/// own first.
struct NewtonLanes {
  std::int32_t n = 0;
  int iterations = 0;
  double tol = 0;
  double* x = nullptr;    // given; samples of a lane without a row are 0
  double* lam = nullptr;  // given: of the edge behind each sample; 0 behind the last
  double* u = nullptr;    // of the edge behind each sample, where the iterations ended
  double* next = nullptr;
  double* mean = nullptr;
  double* rise = nullptr;
  std::uint8_t* fixed = nullptr;  // bit j: the edge of lane j stays at its bound
  double range[kMostNewtonLanes] = {};
  std::int32_t done[kMostNewtonLanes] = {};  // iterations; 0: not converged
};

}  // namespace tautline::detail
