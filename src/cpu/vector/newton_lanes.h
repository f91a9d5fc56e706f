// What the vector code solves by Newton's method: rows of one length, a row a lane.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// Longer rows would leave the caches.
inline constexpr std::int32_t kLongestNewtonLane = 4096;
inline constexpr int kMostNewtonLanes = 8;

/// Numbers of a lane: those of a row of n samples and of all rows of pairs that it starts from.
[[nodiscard]] constexpr std::int64_t newton_lane_samples(std::int32_t n) noexcept {
  return 2 * std::int64_t{n} + 32;
}

/// Number k of lane j is at [k * lanes + j] of an array.
struct NewtonLanes {
  std::int32_t n = 0;  // at least 1
  int iterations = 0;
  double tol = 0;
  bool sharp = false;
  bool wants_dual = false;  // and its gap and objective; so with a tolerance

  /// newton_lane_samples a lane. Given, the first n, as they are in memory.
  double* x = nullptr;
  /// As many. Given, the first n - 1, scaled; null: all of a row are `lam`.
  double* edge_lam = nullptr;
  double* u = nullptr;             // n, one before and one behind; comes out as the dual, n - 1
  double* values = nullptr;        // n; comes out as y
  std::uint8_t* fixed = nullptr;   // n; bit j: the edge behind a sample of lane j is at its bound
  std::uint64_t* words = nullptr;  // comes out as the partition

  std::uint8_t taken = 0;  // bit j: lane j has a row; those of others may hold anything
  double offset[kMostNewtonLanes] = {};      // what is taken off x
  double scale[kMostNewtonLanes] = {};       // and what it is then multiplied by
  double range[kMostNewtonLanes] = {};       // of x, in that scale
  double lam[kMostNewtonLanes] = {};         // in that scale
  double gap[kMostNewtonLanes] = {};         // of the result before it is rounded, in that scale
  double objective[kMostNewtonLanes] = {};   // likewise
  std::int32_t done[kMostNewtonLanes] = {};  // iterations; 0: not solved here
};

}  // namespace tautstring::detail
