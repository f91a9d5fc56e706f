// Where a long row can be cut into independent pieces.
//
// After a jump the direct method starts again: its state is only the sample and the sign. Consider
// two searches that start at one sample with the dual variable at its two bounds. Once both are
// after the same jump when they have read equally far, they are identical from there on. As the
// true dual variable lies between those bounds, the true search finds that jump too. The row can be
// cut there.
//
// The cuts depend on the row only, not on threads or lanes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/vector/vector_kernels.h"
#include "step/row/scratch.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// Jobs that a task searches at a time.
inline constexpr std::int32_t kJobsATime = 128;

/// Up to this many jobs the plain code is faster; with long segments its branches are
/// easy to predict.
[[nodiscard]] constexpr std::int32_t few_jobs(std::int32_t lanes, std::int32_t length) noexcept {
  constexpr std::int32_t kLong = 4096;
  return length < kLong ? 2 : std::max(lanes / 4, 2);
}

/// The first sample after a jump of `code`; `continues` as long as none has been found from
/// `sample` on.
struct Cut {
  std::int32_t sample;
  Code code;
  std::int32_t read = 0;  // of a cut that was found: the searches needed the samples before this
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

  /// The dual variable between a sample and the one before it, at a jump.
  [[nodiscard]] T dual_before(std::int32_t sample, Code code) const noexcept {
    return static_cast<T>(-jump_sign(code)) * (edge_lam != nullptr ? edge_lam[sample - 1] : lam);
  }
};

/// The two searches for a cut: where each one is, after its last jump.
struct SearchPair {
  Cut below;  // started with the dual variable at its lower bound
  Cut above;
  std::int32_t limit;  // both read up to here
  std::int32_t cut;    // index of the cut that they search for
};

/// Scratch memory of a task for searching jobs along a row.
template <class T>
struct JobScratch {
  JobScratch() = default;
  explicit JobScratch(Scratch& scratch) noexcept;

  /// Marks the entries after `count` jobs as no jobs.
  void end_jobs(std::int32_t count) const noexcept;

  std::int32_t* first = nullptr;  // by job
  std::int32_t* last = nullptr;
  T* lam = nullptr;
  T* u_start = nullptr;
  T* u_end = nullptr;
  HandedOver* handed_over = nullptr;
  SearchPair* pairs = nullptr;
};

/// How short pieces may be, and how far searches may go until they meet.
struct CutLimits {
  std::int32_t shortest_piece;
  std::int32_t reach;
  std::int32_t probes;  // places where the reach is measured, at most kMostProbes

  /// For rows of n samples that are long enough to fill all lanes.
  [[nodiscard]] static CutLimits of_long_row(std::int32_t n) noexcept;
};

/// The places from which cuts are searched: `spacing` apart, and one close to the end of the row.
struct CutPlan {
  /// Upper bound on the number of places in a row of n samples.
  [[nodiscard]] static std::int32_t most(std::int32_t n) noexcept;

  [[nodiscard]] std::int32_t place(std::int32_t cut) const noexcept {
    return cut + 1 < count ? (cut + 1) * spacing : n - tail;
  }
  /// Searches for a cut stop before this sample, so that cuts are in order.
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

  /// `codes` has room for the row; its contents are undefined afterwards.
  [[nodiscard]] CutPlan plan(CutLimits limits, Code* codes,
                             const JobScratch<T>& jobs) const noexcept;

  /// Searches for cuts [first, last) and writes them to the same elements of `cuts`. `codes` has
  /// room for those samples; its contents are undefined afterwards.
  void find(const CutPlan& plan, std::int32_t first, std::int32_t last, Cut* cuts, Code* codes,
            const JobScratch<T>& jobs) const noexcept;

 private:
  [[nodiscard]] std::int32_t measure_reach(CutLimits limits, Code* codes,
                                           const JobScratch<T>& jobs) const noexcept;
  std::int32_t search_on(std::int32_t count, Cut* cuts, Code* codes,
                         const JobScratch<T>& jobs) const noexcept;
  void search_on(std::int32_t count, Cut SearchPair::*which, Code* codes,
                 const JobScratch<T>& jobs) const noexcept;

  RowTube<T> tube_;
  const VectorKernels<T>& kernels_;
};

}  // namespace tautstring::detail
