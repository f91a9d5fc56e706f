// Chooses among the shapes and kinds of DirectLanes. Per-target.
#if defined(TAUTLINE_FIND_JUMPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_FIND_JUMPS_INL_H_
#undef TAUTLINE_FIND_JUMPS_INL_H_
#else
#define TAUTLINE_FIND_JUMPS_INL_H_
#endif

#include "cpu/vector/direct_lanes-inl.h"
#include "cpu/vector/vector_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::detail::HWY_NAMESPACE {

using ShortSegments = Shape<4, 2, true>;
using LongSegments = Shape<8, 2, false>;

/// Each variant a function of its own: compilers do not do well with all in one.
template <class T, class Shape, JobEnd kEnd, bool kEdges>
HWY_NOINLINE void run_lanes(const LaneJobs<T>& jobs, FoundJumps& found) noexcept {
  DirectLanes<T, Shape, kEnd, kEdges>(jobs, found).run();
}

template <class T, class Shape, JobEnd kEnd>
void find_jumps_of(const LaneJobs<T>& jobs, FoundJumps& found) noexcept {
  if (jobs.edge_lam != nullptr) {
    run_lanes<T, Shape, kEnd, true>(jobs, found);
  } else {
    run_lanes<T, Shape, kEnd, false>(jobs, found);
  }
}

template <class T>
void find_jumps(const LaneJobs<T>& jobs, JobEnd end, LaneShape shape, FoundJumps& found) noexcept {
  const bool is_short = shape == LaneShape::short_segments;
  if (end == JobEnd::row) {
    is_short ? find_jumps_of<T, ShortSegments, JobEnd::row>(jobs, found)
             : find_jumps_of<T, LongSegments, JobEnd::row>(jobs, found);
  } else if (end == JobEnd::piece) {
    is_short ? find_jumps_of<T, ShortSegments, JobEnd::piece>(jobs, found)
             : find_jumps_of<T, LongSegments, JobEnd::piece>(jobs, found);
  } else {
    find_jumps_of<T, LongSegments, JobEnd::open>(jobs, found);
  }
}

template <class T>
inline constexpr std::int32_t kJobsAtOnce =
    LongSegments::kGroups* static_cast<std::int32_t>(hn::MaxLanes(hn::ScalableTag<T>()));

}  // namespace tautline::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
