// The jobs in which the vector code finds jumps: many stretches of samples, one per lane.
#pragma once

#include <cstdint>
#include <limits>

#include "step/direct.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// All jobs are in one tile, so that a lane is an index into it. Arrays by job are readable for
/// kLaneSlack entries after the last job; there `last` is kNoJob and `first` is a sample where idle
/// lanes can stay. Lanes read kReadAhead samples of x, edge_lam and codes past the end of a job, or
/// past the sample where they are idle, and may write back the codes that are there.
template <class T>
struct LaneJobs {
  std::int32_t count = 0;
  const std::int32_t* first = nullptr;
  const std::int32_t* last = nullptr;
  const T* lam = nullptr;      // by job
  const T* u_start = nullptr;  // by job: the dual variable before it; null: 0
  const T* u_end = nullptr;    // by job: after it (JobEnd::piece)
  const T* x = nullptr;
  const T* edge_lam = nullptr;  // by sample: lam of the edge after it, 0 after a row; null: `lam`
  std::int32_t credit = 0;      // that each job starts with; 0: as in step/direct.h
};

inline constexpr std::int32_t kLaneSlack = 16;
inline constexpr std::int32_t kReadAhead = 16;
inline constexpr std::int32_t kNoJob = -8;  // also used as a sample; there is room for that before
                                            // x

/// Where the jumps are written. `codes` is by sample and all `continues` before; the first sample
/// of a job is not marked, one that is handed over may be.
struct FoundJumps {
  Code* codes = nullptr;
  HandedOver* handed_over = nullptr;  // room for one per job
  std::int32_t handed_over_count = 0;
  /// JobEnd::open: the least credit that a job ended with, in vector code.
  std::int32_t least_credit = std::numeric_limits<std::int32_t>::max();
};

/// Calls use(job) for one job after the other.
template <class T, class Use>
constexpr void for_each_job(const LaneJobs<T>& jobs, const Use& use) noexcept {
  for (std::int32_t j = 0; j < jobs.count; ++j) {
    use(DirectJob<T>{.x = jobs.x,
                     .edge_lam = jobs.edge_lam,
                     .first = jobs.first[j],
                     .last = jobs.last[j],
                     .lam = jobs.lam[j],
                     .u_start = jobs.u_start == nullptr ? T{0} : jobs.u_start[j],
                     .u_end = jobs.u_end == nullptr ? T{0} : jobs.u_end[j]});
  }
}

}  // namespace tautstring::detail
