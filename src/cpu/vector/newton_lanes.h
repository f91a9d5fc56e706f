// What the vector code solves by Newton's method: rows of one length, one per lane.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// Longer rows would not fit in the caches.
inline constexpr std::int32_t kLongestNewtonLane = 4096;
inline constexpr int kMostNewtonLanes = 8;

/// Numbers per lane: those of a row of n samples and of all the shorter rows (of pairs) that it
/// starts from.
[[nodiscard]] constexpr std::int64_t newton_lane_samples(std::int32_t n) noexcept {
  return 2 * std::int64_t{n} + 32;
}

/// Number k of lane j is at [k * lanes + j] of an array.
struct NewtonLanes {
  std::int32_t n = 0;  // at least 1
  int iterations = 0;
  double tol = 0;
  bool sharp = false;
  bool wants_dual = false;  // and the gap and objective; also set with a tolerance

  /// newton_lane_samples per lane. The first n are input, unscaled.
  double* x = nullptr;
  /// The same size. The first n - 1 are input, scaled; null: all of a row are `lam`.
  double* edge_lam = nullptr;
  double* u = nullptr;             // n, one before and one after; output: the dual, n - 1
  double* values = nullptr;        // n; output: y
  std::uint8_t* fixed = nullptr;   // n; bit j: the edge after a sample of lane j is at its bound
  std::uint64_t* words = nullptr;  // output: the partition

  std::uint8_t taken = 0;  // bit j: lane j has a row; the contents of other lanes are arbitrary
  double offset[kMostNewtonLanes] = {};      // what is subtracted from x
  double scale[kMostNewtonLanes] = {};       // then what it is multiplied by
  double range[kMostNewtonLanes] = {};       // of x, in that scale
  double lam[kMostNewtonLanes] = {};         // in that scale
  double gap[kMostNewtonLanes] = {};         // of the unrounded result, in that scale
  double objective[kMostNewtonLanes] = {};   // likewise
  std::int32_t done[kMostNewtonLanes] = {};  // iterations; 0: not solved here
};

}  // namespace tautstring::detail
