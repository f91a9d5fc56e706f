// Which shape of the vector code suits some jobs. It changes the time alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cpu/vector/vector_kernels.h"

namespace tautline::detail {

/// A step of more than 2 lam is as good as a jump: counts them in a few jobs.
template <class T>
[[nodiscard]] LaneShape choose_shape(const LaneJobs<T>& jobs) noexcept {
  constexpr std::int32_t kSampledJobs = 8;
  constexpr std::int32_t kSampledSteps = 63;
  std::int32_t large = 0;
  std::int32_t all = 0;
  for (std::int32_t j = 0; j < jobs.count; j += (jobs.count + kSampledJobs - 1) / kSampledJobs) {
    const std::int32_t first = jobs.first[j];
    const std::int32_t last = std::min(first + kSampledSteps, jobs.last[j]);
    for (std::int32_t i = first; i < last; ++i) {
      const T lam = jobs.edge_lam == nullptr ? jobs.lam[j] : jobs.edge_lam[i];
      large += std::abs(jobs.x[i + 1] - jobs.x[i]) > 2 * lam ? 1 : 0;
      ++all;
    }
  }
  return 2 * large > all ? LaneShape::short_segments : LaneShape::long_segments;
}

}  // namespace tautline::detail
