// Where a long row can be cut into pieces that know nothing of each other.
//
// Behind a jump the direct method starts anew: all that it knows is the sample
// and the sign. So two searches that start at one sample with the dual variable at
// its two ends, and are behind the same jump when they have read equally far, have
// become one; and as the true dual variable lies between those ends, the true
// search finds that jump too. Such a place cuts the row.
//
// Where the cuts are depends on the row alone, not on threads or lanes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/vector/vector_kernels.h"
#include "step/row/scratch.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// Jobs that a task sends along a row at a time.
inline constexpr std::int32_t kJobsATime = 128;

/// Up to so many jobs the plain code is faster, for which long segments are easy to
/// predict.
[[nodiscard]] constexpr std::int32_t few_jobs(std::int32_t lanes, std::int32_t length) noexcept {
  constexpr std::int32_t kLong = 4096;
  return length < kLong ? 2 : std::max(lanes / 4, 2);
}

/// The first sample behind a jump of `code`; `continues` while none has been found
/// from `sample` on.
struct Cut {
  std::int32_t sample;
  Code code;
};

[[nodiscard]] inline bool is_found(Cut cut) noexcept {
  return cut.code != Code::continues;
}

/// The samples of a row and the bounds of its dual variable.
template <class T>
struct RowTube {
  const T* x = nullptr;
  const T* edge_lam = nullptr;  // null: `lam`
  T lam = 0;
  std::int32_t n = 0;

  /// The dual variable between a sample and the one before it, where a jump is.
  [[nodiscard]] T dual_before(std::int32_t sample, Code code) const noexcept {
    return static_cast<T>(-jump_sign(code)) * (edge_lam != nullptr ? edge_lam[sample - 1] : lam);
  }
};

/// The two searches that look for a cut: where each is, behind its last jump.
struct SearchPair {
  Cut below;  // began with the dual variable at its lower end
  Cut above;
  std::int32_t limit;  // both read up to here
  std::int32_t cut;    // which one they look for
};

/// What a task needs to send jobs along a row.
template <class T>
struct JobScratch {
  JobScratch() = default;
  explicit JobScratch(Scratch& scratch) noexcept;

  /// Makes what stands behind `count` jobs none.
  void end_jobs(std::int32_t count) const noexcept;

  std::int32_t* first = nullptr;  // by job
  std::int32_t* last = nullptr;
  T* lam = nullptr;
  T* u_start = nullptr;
  T* u_end = nullptr;
  HandedOver* handed_over = nullptr;
  SearchPair* pairs = nullptr;
};

/// The places from which cuts are looked for: `spacing` apart, and one close to the
/// end of the row.
struct CutPlan {
  /// Not less than the places of any row of n samples.
  [[nodiscard]] static std::int32_t most(std::int32_t n) noexcept;

  [[nodiscard]] std::int32_t place(std::int32_t cut) const noexcept {
    return cut + 1 < count ? (cut + 1) * spacing : n - tail;
  }
  /// Searches for a cut read no sample from here on, so that cuts are in order.
  [[nodiscard]] std::int32_t limit(std::int32_t cut) const noexcept {
    return (cut + 1 < count ? place(cut + 1) : n - 1) - kReadAhead;
  }

  std::int32_t n = 0;
  std::int32_t count = 0;
  std::int32_t spacing = 0;
  std::int32_t tail = 0;
  std::int32_t reach = 0;  // within which most pairs of searches meet
};

template <class T>
class CutFinder {
 public:
  CutFinder(const RowTube<T>& tube, const VectorKernels<T>& kernels) noexcept
      : tube_(tube), kernels_(kernels) {}

  /// `codes` has room for the row; it is left in disorder.
  [[nodiscard]] CutPlan plan(Code* codes, const JobScratch<T>& jobs) const noexcept;

  /// Looks for the cuts from `first` on, before `last`, and puts them there. `codes`
  /// has room for those samples; it is left in disorder.
  void find(const CutPlan& plan, std::int32_t first, std::int32_t last, Cut* cuts, Code* codes,
            const JobScratch<T>& jobs) const noexcept;

 private:
  [[nodiscard]] std::int32_t measure_reach(Code* codes, const JobScratch<T>& jobs) const noexcept;
  std::int32_t search_on(std::int32_t count, Cut* cuts, Code* codes,
                         const JobScratch<T>& jobs) const noexcept;
  void search_on(std::int32_t count, Cut SearchPair::*which, Code* codes,
                 const JobScratch<T>& jobs) const noexcept;

  RowTube<T> tube_;
  const VectorKernels<T>& kernels_;
};

}  // namespace tautstring::detail
