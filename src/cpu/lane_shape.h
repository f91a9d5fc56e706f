// Chooses the shape of the vector code for some jobs. The choice affects only the running time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/vector/vector_kernels.h"

namespace tautstring::detail {

/// How many consecutive samples of a job are examined.
inline constexpr std::int32_t kShapeWindow = 32;

/// Jumps in samples first .. first + n - 1 of a job, found one by one.
template <class T>
[[nodiscard]] std::int32_t count_jumps(const LaneJobs<T>& jobs, std::int32_t job,
                                       std::int64_t first, std::int32_t n) noexcept {
  Code codes[kShapeWindow] = {};
  const bool by_edge = jobs.edge_lam != nullptr;
  find_jumps_directly<JobEnd::open, T>({.x = jobs.x + first,
                                        .edge_lam = by_edge ? jobs.edge_lam + first : nullptr,
                                        .first = 0,
                                        .last = n - 1,
                                        .lam = jobs.lam[job],
                                        .u_start = 0,
                                        .u_end = 0},
                                       codes);
  return n - static_cast<std::int32_t>(std::count(codes, codes + n, Code::continues));
}

/// Steps of more than 2 lam in the same samples: these are jumps for which nothing is read again.
template <class T>
[[nodiscard]] std::int32_t count_large_steps(const LaneJobs<T>& jobs, std::int32_t job,
                                             std::int64_t first, std::int32_t n) noexcept {
  std::int32_t large = 0;
  for (std::int64_t i = first; i + 1 < first + n; ++i) {
    const T lam = jobs.edge_lam == nullptr ? jobs.lam[job] : jobs.edge_lam[i];
    large += std::abs(jobs.x[i + 1] - jobs.x[i]) > 2 * lam ? 1 : 0;
  }
  return large;
}

/// Chooses by the number of samples that start a segment, in a few jobs across the list. If few of
/// these are at a large step, as on a smooth curve, jumps are found late: short segments are then
/// no reason to stop often.
template <class T>
[[nodiscard]] LaneShape choose_shape(const LaneJobs<T>& jobs) noexcept {
  constexpr std::int32_t kSampledJobs = 4;
  // For fewer samples, examining one more job takes longer than it can save.
  constexpr std::int64_t kWorthALook = 2048;
  const std::int64_t samples = std::int64_t{jobs.count} * (jobs.last[0] - jobs.first[0] + 1);
  const std::int64_t looks = std::clamp<std::int64_t>(samples / kWorthALook, 1, kSampledJobs);
  std::int32_t jumps = 0;
  std::int32_t large = 0;
  std::int32_t seen = 0;
  for (std::int64_t i = 0; i < looks; ++i) {
    const auto job = static_cast<std::int32_t>(jobs.count * i / looks);
    const std::int32_t length = jobs.last[job] - jobs.first[job] + 1;
    const std::int32_t n = std::min(length, kShapeWindow);
    const std::int64_t first = jobs.first[job] + (length - n) * i / looks;
    jumps += count_jumps(jobs, job, first, n);
    large += count_large_steps(jobs, job, first, n);
    seen += n;
  }
  const bool found_late = 4 * large < jumps;
  if (found_late) return LaneShape::medium_segments;
  if (10 * jumps > 6 * seen) return LaneShape::single_samples;
  if (10 * jumps > 3 * seen) return LaneShape::short_segments;
  return jumps > 0 ? LaneShape::medium_segments : LaneShape::long_segments;
}

}  // namespace tautstring::detail
