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

/// Writes the codes of the row's jumps, which are all `continues` before. Returns whether that
/// succeeded; if not, they still are.
template <class T>
[[nodiscard]] bool find_jumps_in_pieces(const RowTube<T>& row, const VectorKernels<T>& kernels,
                                        const RowSplitScratch<T>& s, Code* codes) noexcept {
  constexpr std::int32_t kShortestPiece = 64;
  constexpr std::int32_t kFewestPieces = 5;  // fewer do not pay for the search for cuts
  // Probing to the end in vain, where segments are long, costs a few percent.
  constexpr std::int32_t kProbes = 2;
  constexpr std::int32_t kProbedPart = 128;
  const auto clear = [&] { std::fill_n(codes, row.n, Code::continues); };

  if (!is_rough(row.x, row.n)) return false;
  const CutFinder<T> finder(row, kernels);
  const CutLimits limits = {kShortestPiece, row.n / kProbedPart, kProbes};
  const CutPlan plan = finder.plan(limits, codes, s.jobs);
  if (plan.count < kFewestPieces || plan.count > kJobsATime) return false;
  finder.find(plan, 0, plan.count, s.cuts, codes, s.jobs);
  clear();

  LaneJobs<T> jobs = {.first = s.jobs.first,
                      .last = s.jobs.last,
                      .lam = s.jobs.lam,
                      .u_start = s.jobs.u_start,
                      .x = row.x,
                      .edge_lam = row.edge_lam,
                      .credit = first_credit(row.n)};
  Cut start = {0, Code::plain};
  Cut* const cuts_end =
      std::remove_if(s.cuts, s.cuts + plan.count, [](const Cut& cut) { return !is_found(cut); });
  const auto u_start = [&] {
    return start.code == Code::plain ? T{0} : row.dual_before(start.sample, start.code);
  };
  for (const Cut* cut = s.cuts; cut != cuts_end; ++cut) {
    s.jobs.first[jobs.count] = start.sample;
    s.jobs.last[jobs.count] = cut->read - 1;
    s.jobs.lam[jobs.count] = row.lam;
    s.jobs.u_start[jobs.count++] = u_start();
    start = *cut;
  }
  if (jobs.count < kFewestPieces) return false;
  s.jobs.end_jobs(jobs.count);
  FoundJumps found = {.codes = codes, .handed_over = s.jobs.handed_over};
  kernels.find_jumps(jobs, JobEnd::open, choose_shape(jobs), found);
  bool succeeds = found.handed_over_count == 0;
  std::int32_t most_won = 0;  // by a job from samples of the next one
  for (const Cut* cut = s.cuts; cut != cuts_end && succeeds; ++cut) {
    succeeds = codes[cut->sample] == cut->code;
    std::int32_t last = cut->read - 1;
    while (succeeds && codes[last] == Code::continues) --last;
    most_won = std::max(most_won, last - cut->sample);
  }
  // One search along the row would have at least as much credit everywhere: no job ends with less
  // than it started with, even without what it won from the next one.
  succeeds = succeeds && found.least_credit - (most_won << kCreditShift) >= first_credit(row.n);
  if (succeeds) {
    s.jobs.first[0] = start.sample;
    s.jobs.last[0] = row.n - 1;
    s.jobs.u_start[0] = u_start();
    jobs.count = 1;
    jobs.credit = 0;
    kPortableTarget.kernels<T>().find_jumps(jobs, JobEnd::row, LaneShape::medium_segments, found);
    succeeds = found.handed_over_count == 0;
  }
  if (!succeeds) clear();
  return succeeds;
}

}  // namespace tautstring::detail
