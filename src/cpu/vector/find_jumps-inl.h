// Selects the shape and kind of DirectLanes. Per-target.
#if defined(TAUTSTRING_FIND_JUMPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_FIND_JUMPS_INL_H_
#undef TAUTSTRING_FIND_JUMPS_INL_H_
#else
#define TAUTSTRING_FIND_JUMPS_INL_H_
#endif

#include "cpu/vector/direct_lanes-inl.h"
#include "cpu/vector/vector_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// With few lanes per vector there are registers for one more vector.
template <class T>
inline constexpr int kUsualGroups = hn::MaxLanes(hn::ScalableTag<T>()) <= 4 ? 3 : 2;

using SingleSamples = Shape<4, 2, true>;
template <class T>
using MediumSegments = Shape<8, kUsualGroups<T>, false>;
#ifdef TAUTSTRING_SANITIZED  // saves minutes; the other shapes differ only in their constants
template <class T>
using ShortSegments = MediumSegments<T>;
template <class T>
using LongSegments = MediumSegments<T>;
#else
template <class T>
using ShortSegments = Shape<4, 2, false>;
template <class T>
using LongSegments = Shape<16, 2, false>;
#endif

/// Each variant is a function of its own: compilers optimize all of them in one poorly.
template <class T, class Shape, JobEnd kEnd, bool kEdges>
HWY_NOINLINE void run_lanes(const LaneJobs<T>& jobs, FoundJumps& found) noexcept {
  DirectLanes<T, Shape, kEnd, kEdges>(jobs, found).run();
}

template <class T, JobEnd kEnd>
void find_jumps_of(const LaneJobs<T>& jobs, LaneShape shape, FoundJumps& found) noexcept {
  switch (shape) {
    case LaneShape::single_samples: return run_lanes<T, SingleSamples, kEnd, false>(jobs, found);
    case LaneShape::short_segments: return run_lanes<T, ShortSegments<T>, kEnd, false>(jobs, found);
    case LaneShape::medium_segments:
      return run_lanes<T, MediumSegments<T>, kEnd, false>(jobs, found);
    case LaneShape::long_segments: return run_lanes<T, LongSegments<T>, kEnd, false>(jobs, found);
  }
}

/// For what is rare, or short: one lam per edge, and open ends.
template <class T, JobEnd kEnd, bool kEdges>
void find_jumps_in_two_shapes(const LaneJobs<T>& jobs, LaneShape shape,
                              FoundJumps& found) noexcept {
  if (shape == LaneShape::single_samples) {
    run_lanes<T, SingleSamples, kEnd, kEdges>(jobs, found);
  } else {
    run_lanes<T, MediumSegments<T>, kEnd, kEdges>(jobs, found);
  }
}

template <class T>
void find_jumps(const LaneJobs<T>& jobs, JobEnd end, LaneShape shape, FoundJumps& found) noexcept {
  const bool by_edge = jobs.edge_lam != nullptr;
  if (end == JobEnd::row) {
    by_edge ? find_jumps_in_two_shapes<T, JobEnd::row, true>(jobs, shape, found)
            : find_jumps_of<T, JobEnd::row>(jobs, shape, found);
  } else if (end == JobEnd::piece) {
    by_edge ? find_jumps_in_two_shapes<T, JobEnd::piece, true>(jobs, shape, found)
            : find_jumps_of<T, JobEnd::piece>(jobs, shape, found);
  } else {
    by_edge ? find_jumps_in_two_shapes<T, JobEnd::open, true>(jobs, shape, found)
            : find_jumps_in_two_shapes<T, JobEnd::open, false>(jobs, shape, found);
  }
}

template <class T>
inline constexpr std::int32_t kJobsAtOnce =
    kUsualGroups<T>* static_cast<std::int32_t>(hn::MaxLanes(hn::ScalableTag<T>()));

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
