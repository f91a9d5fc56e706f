// Finds the jumps of a single row in many lanes, from places along the row where searches are known
// to pass (see row_cuts.h). The result is that of one search along the row, bit for bit: every
// search goes on until it has passed the place where the next one started.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/lane_shape.h"
#include "cpu/row_cuts.h"
#include "cpu/targets.h"

namespace tautstring::detail {

/// Shorter rows are searched faster by one search.
inline constexpr std::int32_t kShortestSplit = 512;

template <class T>
struct RowSplitScratch {
  RowSplitScratch() = default;
  explicit RowSplitScratch(Scratch& scratch) noexcept
      : jobs(scratch), cuts(scratch.take<Cut>(kJobsATime)) {}

  JobScratch<T> jobs;
  Cut* cuts = nullptr;
};

/// Whether samples go up and down, as noise does: searches along smooth rows do not meet.
template <class T>
[[nodiscard]] bool is_rough(const T* x, std::int32_t n) noexcept {
  constexpr std::int32_t kWindows = 4;
  constexpr std::int32_t kWindow = 16;
  std::int32_t turns = 0;
  for (std::int32_t w = 0; w < kWindows; ++w) {
    const T* window = x + (n - kWindow - 2) / kWindows * w;
    for (std::int32_t i = 1; i <= kWindow; ++i) {
      const bool turns_here = (window[i] > window[i - 1]) == (window[i] > window[i + 1]);
      turns += turns_here ? 1 : 0;
    }
  }
  return 4 * turns > kWindows * kWindow;
}

/// One row, and the pieces that it is searched in.
template <class T>
class RowSplit {
 public:
  /// `codes` are all `continues`.
  RowSplit(const RowTube<T>& row, const VectorKernels<T>& kernels,
           const RowSplitScratch<T>& scratch, Code* codes) noexcept
      : row_(row), kernels_(kernels), s_(scratch), cuts_end_(scratch.cuts), codes_(codes) {}

  /// Writes the codes of the row's jumps. Returns whether that succeeded; if not, no code is
  /// written.
  [[nodiscard]] bool find_jumps() noexcept {
    // Only vector code reports the credit that search_pieces needs.
    if (kernels_.lanes == 1 || !is_rough(row_.x, row_.n)) return false;
    find_cuts();
    if (cuts_end_ - s_.cuts < kFewestCuts) return false;
    if (search_pieces() && search_rest()) return true;
    clear();
    return false;
  }

 private:
  static constexpr std::int32_t kShortestPiece = 64;
  static constexpr std::int32_t kFewestCuts = 5;  // fewer do not pay for the search for them
  // Probing to the end in vain, where segments are long, costs a few percent.
  static constexpr std::int32_t kProbes = 2;
  static constexpr std::int32_t kProbedPart = 128;

  void clear() const noexcept { std::fill_n(codes_, row_.n, Code::continues); }

  void find_cuts() noexcept {
    const CutFinder<T> finder(row_, kernels_);
    const CutLimits limits = {kShortestPiece, row_.n / kProbedPart, kProbes};
    const CutPlan plan = finder.plan(limits, codes_, s_.jobs);
    if (plan.count >= kFewestCuts) {
      finder.find(plan, 0, plan.count, s_.cuts, codes_, s_.jobs);
      cuts_end_ = std::remove_if(s_.cuts, s_.cuts + plan.count,
                                 [](const Cut& cut) { return !is_found(cut); });
    }
    clear();
  }

  /// Adds the job that starts at a cut, or at the start of the row, and takes the samples before
  /// `behind`.
  void add_job(LaneJobs<T>& jobs, const Cut& start, std::int32_t behind) const noexcept {
    s_.jobs.first[jobs.count] = start.sample;
    s_.jobs.last[jobs.count] = behind - 1;
    s_.jobs.lam[jobs.count] = row_.lam;
    s_.jobs.u_start[jobs.count] =
        start.code == Code::plain ? T{0} : row_.dual_before(start.sample, start.code);
    ++jobs.count;
  }
  [[nodiscard]] LaneJobs<T> no_jobs() const noexcept {
    return {.first = s_.jobs.first,
            .last = s_.jobs.last,
            .lam = s_.jobs.lam,
            .u_start = s_.jobs.u_start,
            .x = row_.x,
            .edge_lam = row_.edge_lam};
  }

  /// Searches up to the last cut, from all cuts at once. Returns whether one search along the row
  /// does the same.
  [[nodiscard]] bool search_pieces() const noexcept {
    LaneJobs<T> jobs = no_jobs();
    jobs.credit = first_credit(row_.n);
    Cut start = {0, Code::plain};
    for (const Cut* cut = s_.cuts; cut != cuts_end_; start = *cut++) {
      add_job(jobs, start, cut->read);
    }
    s_.jobs.end_jobs(jobs.count);
    FoundJumps found = {.codes = codes_, .handed_over = s_.jobs.handed_over};
    kernels_.find_jumps(jobs, JobEnd::open, choose_shape(jobs), found);
    if (found.handed_over_count > 0) return false;
    std::int32_t most_won = 0;  // by a job from samples of the next one
    for (const Cut* cut = s_.cuts; cut != cuts_end_; ++cut) {
      if (codes_[cut->sample] != cut->code) return false;
      std::int32_t last = cut->read - 1;
      while (codes_[last] == Code::continues) --last;
      most_won = std::max(most_won, last - cut->sample);
    }
    // One search would have at least as much credit everywhere: no job ends with less than it
    // started with, even without what it won from the next one.
    return found.least_credit - (most_won << kCreditShift) >= jobs.credit;
  }

  /// Searches from the last cut to the end.
  [[nodiscard]] bool search_rest() const noexcept {
    LaneJobs<T> jobs = no_jobs();
    add_job(jobs, cuts_end_[-1], row_.n);
    FoundJumps found = {.codes = codes_, .handed_over = s_.jobs.handed_over};
    kPortableTarget.kernels<T>().find_jumps(jobs, JobEnd::row, LaneShape::medium_segments, found);
    return found.handed_over_count == 0;
  }

  const RowTube<T>& row_;
  const VectorKernels<T>& kernels_;
  const RowSplitScratch<T>& s_;
  const Cut* cuts_end_;
  Code* codes_;
};

}  // namespace tautstring::detail
