// What the vector code finds jumps in: many stretches of samples, one a lane.
#pragma once

#include <cstdint>

#include "step/direct.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// Jobs stand in one tile of memory, so that a lane is an index into it. Arrays
/// by job are readable for kLaneSlack entries behind the last job; there `last` is
/// kNoJob and `first` a sample for idle lanes to be at. Lanes read kReadAhead
/// samples of x, edge_lam and codes behind a job, or behind where they are idle,
/// and may write back the codes that are there.
template <class T>
struct LaneJobs {
  std::int32_t count = 0;
  const std::int32_t* first = nullptr;
  const std::int32_t* last = nullptr;
  const T* lam = nullptr;      // by job
  const T* u_start = nullptr;  // by job: the dual variable before it; null: 0
  const T* u_end = nullptr;    // by job: behind it (JobEnd::piece)
  const T* x = nullptr;
  const T* edge_lam = nullptr;  // by sample: lam of the edge behind it, 0 behind a row; null: `lam`
};

inline constexpr std::int32_t kLaneSlack = 16;
inline constexpr std::int32_t kReadAhead = 16;
inline constexpr std::int32_t kNoJob = -8;  // also as a sample, where there is room before x

/// Where the jumps go. `codes` is by sample, all `continues` before; a job's first
/// sample is not marked, one that is handed over may be.
struct FoundJumps {
  Code* codes = nullptr;
  HandedOver* handed_over = nullptr;  // room for one a job
  std::int32_t handed_over_count = 0;
};

}  // namespace tautstring::detail
