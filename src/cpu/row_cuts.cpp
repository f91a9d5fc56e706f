#include "cpu/row_cuts.h"

#include <algorithm>
#include <cstring>

#include "cpu/targets.h"

namespace tautstring::detail {
namespace {

/// Places at which it is measured how far searches go until they meet.
constexpr std::int32_t kMostProbes = 4;

constexpr std::int32_t kShortestReach = 16;

/// Lengths of a piece that make the search for cuts cheap in comparison.
constexpr std::int32_t kReachesAPiece = 24;
constexpr std::int32_t kShortestPiece = 2048;

/// This many pieces fill the lanes, which is worth shorter pieces.
constexpr std::int32_t kMostLanes = 32;
constexpr std::int32_t kFewestReachesAPiece = 2;

/// Pairs that have not met after this many times the reach are given up.
constexpr std::int32_t kMostRounds = 4;

/// Pieces are an odd number of cache lines long: lanes at the same sample of their pieces then do
/// not compete for the few ways of one cache set.
constexpr std::int32_t kLine = 16;

/// The last sample in [from, to) that starts a segment; else `from`.
std::int32_t last_start(const Code* codes, std::int32_t from, std::int32_t to) noexcept {
  while (to - 8 > from) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, codes + to - 8, sizeof(eight));
    if (eight != 0) break;
    to -= 8;
  }
  do {
    --to;
  } while (to > from && codes[to] == Code::continues);
  return to;
}

SearchPair start_pair(std::int32_t place, std::int32_t cut) noexcept {
  return {.below = {place, Code::up}, .above = {place, Code::down}, .limit = place, .cut = cut};
}

}  // namespace

std::int32_t CutPlan::most(std::int32_t n) noexcept {
  return std::max(n / kShortestPiece, kMostLanes) + 2;
}

template <class T>
JobScratch<T>::JobScratch(Scratch& scratch) noexcept
    : first(scratch.take<std::int32_t>(kJobsATime + kLaneSlack)),
      last(scratch.take<std::int32_t>(kJobsATime + kLaneSlack)),
      lam(scratch.take<T>(kJobsATime + kLaneSlack)),
      u_start(scratch.take<T>(kJobsATime + kLaneSlack)),
      u_end(scratch.take<T>(kJobsATime + kLaneSlack)),
      handed_over(scratch.take<HandedOver>(kJobsATime)),
      pairs(scratch.take<SearchPair>(kJobsATime)) {}

template <class T>
void JobScratch<T>::end_jobs(std::int32_t count) const noexcept {
  std::fill_n(first + count, kLaneSlack, first[0]);
  std::fill_n(last + count, kLaneSlack, kNoJob);
  std::fill_n(lam + count, kLaneSlack, lam[0]);
  std::fill_n(u_start + count, kLaneSlack, T{0});
  std::fill_n(u_end + count, kLaneSlack, T{0});
}

CutLimits CutLimits::of_long_row(std::int32_t n) noexcept {
  return {kShortestPiece / 4, n / (2 * kFewestReachesAPiece * kMostLanes), kMostProbes};
}

template <class T>
CutPlan CutFinder<T>::plan(CutLimits limits, Code* codes,
                           const JobScratch<T>& jobs) const noexcept {
  const std::int32_t n = tube_.n;
  CutPlan plan = {.n = n, .reach = measure_reach(limits, codes, jobs)};
  if (plan.reach == 0) return plan;
  std::int32_t pieces = n / std::max(kShortestPiece, kReachesAPiece * plan.reach);
  if (pieces >= kMostLanes) {
    pieces = pieces / kMostLanes * kMostLanes;
  } else {
    const std::int32_t shortest =
        std::max(limits.shortest_piece, kFewestReachesAPiece * plan.reach);
    pieces = std::clamp(n / shortest, 1, kMostLanes);
  }
  plan.spacing = n / pieces / (2 * kLine) * (2 * kLine) + kLine;
  plan.tail = std::min(plan.spacing / 4, 2 * plan.reach + 2 * kReadAhead);
  plan.count = std::max(n - plan.spacing / 2, 0) / plan.spacing + 1;
  return plan;
}

/// Returns how far most pairs of searches read until they meet; 0: too far.
template <class T>
std::int32_t CutFinder<T>::measure_reach(CutLimits limits, Code* codes,
                                         const JobScratch<T>& jobs) const noexcept {
  const std::int32_t few = limits.probes / 4;  // this many need not meet
  std::int32_t count = limits.probes;
  std::int32_t places[kMostProbes];
  Cut cuts[kMostProbes];
  for (std::int32_t i = 0; i < limits.probes; ++i) {
    places[i] = static_cast<std::int32_t>(std::int64_t{tube_.n} * (i + 1) / (limits.probes + 1));
    jobs.pairs[i] = start_pair(places[i], i);
  }
  std::int32_t reach = kShortestReach;
  for (;; reach *= 2) {
    for (std::int32_t j = 0; j < count; ++j) {
      jobs.pairs[j].limit = places[jobs.pairs[j].cut] + reach;
    }
    count = search_on(count, cuts, codes, jobs);
    if (count <= few) return reach;
    if (reach > limits.reach) break;
  }
  return count <= limits.probes - 2 ? reach : 0;
}

template <class T>
void CutFinder<T>::find(const CutPlan& plan, std::int32_t first, std::int32_t last, Cut* cuts,
                        Code* codes, const JobScratch<T>& jobs) const noexcept {
  for (std::int32_t next = first; next < last;) {
    std::int32_t count = 0;
    for (; next < last && count < kJobsATime; ++next) {
      cuts[next] = {plan.place(next), Code::continues};
      jobs.pairs[count++] = start_pair(plan.place(next), next);
    }
    for (std::int32_t round = 0; round < kMostRounds && count > 0; ++round) {
      for (std::int32_t j = 0; j < count; ++j) {
        SearchPair& pair = jobs.pairs[j];
        pair.limit = std::min(pair.limit + plan.reach, plan.limit(pair.cut));
      }
      count = search_on(count, cuts, codes, jobs);
    }
  }
}

/// Continues both searches of every pair up to their limit. Where they meet is a cut. The other
/// pairs move to the front; returns their number.
template <class T>
std::int32_t CutFinder<T>::search_on(std::int32_t count, Cut* cuts, Code* codes,
                                     const JobScratch<T>& jobs) const noexcept {
  search_on(count, &SearchPair::below, codes, jobs);
  search_on(count, &SearchPair::above, codes, jobs);
  std::int32_t left = 0;
  for (std::int32_t j = 0; j < count; ++j) {
    const SearchPair pair = jobs.pairs[j];
    const bool met = pair.below.sample == pair.above.sample && pair.below.code == pair.above.code;
    if (met) {
      cuts[pair.cut] = {pair.below.sample, pair.below.code, pair.limit};
    } else {
      jobs.pairs[left++] = pair;
    }
  }
  return left;
}

template <class T>
void CutFinder<T>::search_on(std::int32_t count, Cut SearchPair::*which, Code* codes,
                             const JobScratch<T>& jobs) const noexcept {
  const auto clear_codes = [&] {
    for (std::int32_t j = 0; j < count; ++j) {
      std::fill(codes + jobs.first[j], codes + jobs.last[j] + kReadAhead, Code::continues);
    }
  };
  for (std::int32_t j = 0; j < count; ++j) {
    const Cut at = jobs.pairs[j].*which;
    jobs.first[j] = at.sample;
    jobs.last[j] = std::max(jobs.pairs[j].limit - 1, at.sample);
    jobs.lam[j] = tube_.lam;
    jobs.u_start[j] = tube_.dual_before(at.sample, at.code);
  }
  jobs.end_jobs(count);
  clear_codes();
  FoundJumps found = {.codes = codes, .handed_over = jobs.handed_over};
  const std::int32_t length = jobs.last[0] - jobs.first[0];
  const auto find = count > few_jobs(kernels_.lanes, length)
                        ? kernels_.find_jumps
                        : kPortableTarget.kernels<T>().find_jumps;
  find({.count = count,
        .first = jobs.first,
        .last = jobs.last,
        .lam = jobs.lam,
        .u_start = jobs.u_start,
        .x = tube_.x,
        .edge_lam = tube_.edge_lam},
       JobEnd::open,
       length <= kShortestReach ? LaneShape::single_samples : LaneShape::long_segments, found);
  for (std::int32_t j = 0; j < count; ++j) {
    const std::int32_t at = last_start(codes, jobs.first[j], jobs.last[j] + 1);
    if (at > jobs.first[j]) jobs.pairs[j].*which = {at, codes[at]};
  }
  clear_codes();
}

template struct JobScratch<float>;
template struct JobScratch<double>;
template class CutFinder<float>;
template class CutFinder<double>;

}  // namespace tautstring::detail
