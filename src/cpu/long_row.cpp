#include "cpu/long_row.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/lane_shape.h"
#include "cpu/parallel.h"
#include "cpu/row_io.h"

namespace tautline::detail {
namespace {

/// Samples that a task takes at a time where order does not matter.
constexpr std::int64_t kBlock = 65536;

/// Rows are finished in stretches of about this length.
constexpr std::int32_t kStretch = 32768;

/// The searches that look for cuts meet within a few segments. They get these
/// lengths, each several times the one before, until they do.
constexpr std::int32_t kShortestCoupling = 128;
constexpr std::int32_t kCouplingGrowth = 4;

/// A piece is as long as this many couplings, so that looking for cuts is cheap
/// beside it, and not shorter than this.
constexpr std::int32_t kCouplingsAPiece = 16;
constexpr std::int32_t kShortestPiece = 2048;

/// Jobs that a task takes at a time.
constexpr std::int32_t kJobsATime = 128;

/// Jobs that the plain code is faster for.
constexpr std::int32_t kFewJobs = 2;

/// What a value may be off by rounding, as a fraction of the range.
template <class T>
constexpr T kRounding = std::is_same_v<T, float> ? T{1e-6F} : static_cast<T>(1e-13);

/// The first sample from `from` on, before `to`, that starts a segment; else `to`.
std::int32_t next_start(const Code* codes, std::int32_t from, std::int32_t to) noexcept {
  while (from + 8 <= to) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, codes + from, sizeof(eight));
    if (eight != 0) break;
    from += 8;
  }
  while (from < to && codes[from] == Code::continues) ++from;
  return from;
}

std::int32_t last_start_before(const Code* codes, std::int32_t sample) noexcept {
  do {
    --sample;
  } while (sample > 0 && codes[sample] == Code::continues);
  return sample;
}

}  // namespace

template <class T>
LongRowScratch<T>::LongRowScratch(Scratch scratch, std::int32_t n, int task_count) noexcept {
  cut(scratch, n, task_count);
}

template <class T>
std::size_t LongRowScratch<T>::bytes(std::int32_t n, int task_count) noexcept {
  Scratch counter(nullptr);
  LongRowScratch().cut(counter, n, task_count);
  return counter.used();
}

template <class T>
void LongRowScratch<T>::cut(Scratch& scratch, std::int32_t n, int task_count) noexcept {
  const std::int64_t samples = n + 2 * kSegmentSlack;
  const auto behind = [](auto* array, std::int64_t count) {
    return array == nullptr ? array : array + count;
  };
  x = scratch.take<T>(samples);
  edge_lam = behind(scratch.take<T>(samples), kSegmentSlack);
  codes = scratch.take<Code>(samples);
  knots = scratch.take<Knot>(2 * std::int64_t{n});
  other_codes = reinterpret_cast<Code*>(knots);
  cuts = scratch.take<Cut>(n / kShortestPiece + 2);
  stretches = scratch.take<std::int32_t>(n / kStretch + 2);
  tasks = scratch.take<PieceScratch<T>>(task_count);
  for (int i = 0; i < task_count; ++i) {
    PieceScratch<T> task;
    task.first = scratch.take<std::int32_t>(kJobsATime + kLaneSlack);
    task.last = scratch.take<std::int32_t>(kJobsATime + kLaneSlack);
    task.lam = scratch.take<T>(kJobsATime + kLaneSlack);
    task.u_start = scratch.take<T>(kJobsATime + kLaneSlack);
    task.u_end = scratch.take<T>(kJobsATime + kLaneSlack);
    task.handed_over = scratch.take<HandedOver>(kJobsATime);
    const std::int64_t segments = 2 * std::int64_t{kStretch} + std::int64_t{2} * kSegmentSlack;
    task.segments.starts = scratch.take<SegmentStart>(segments);
    task.segments.values = behind(scratch.take<T>(segments), kSegmentSlack);
    task.segments.lam = behind(scratch.take<T>(segments), kSegmentSlack);
    if (tasks != nullptr) tasks[i] = task;
  }
}

template <class T>
template <class Use>
void LongRow<T>::in_parallel(std::int64_t all, std::int64_t chunk, const Context& threads,
                             const Use& use) noexcept {
  const Sharing sharing(all, chunk, threads);
  std::atomic<int> next_task{0};
  for_each_chunk(sharing, nullptr, 0, threads, [&](Scratch&) {
    return [&use, &task = s_.tasks[next_task.fetch_add(1)]](std::int64_t first, std::int64_t last) {
      use(static_cast<std::int32_t>(first), static_cast<std::int32_t>(last), task);
    };
  });
}

template <class T>
RowPath LongRow<T>::solve(std::int64_t row, const Context& threads) noexcept {
  const auto x = call_.x.row(call_.rows, row);
  const bool plain = x.dtype == kDType<T> && x.stride == 1;
  x_ = plain ? static_cast<const T*>(x.data) : s_.x;
  if (!plain) stage(x, threads);
  const Extent<T> extent = measure(threads);
  if (is_unusual(extent)) return RowPath::unusual;
  const LamExtent lam = load_lam(row, unbinding_lam(extent, n_));
  const RowPath path = choose_path(extent, lam, n_);
  if (path == RowPath::unusual || path == RowPath::wide) return path;

  range_ = extent.high - extent.low;
  const T offset = choose_offset(extent);
  if (offset != 0) take_off(offset, threads);
  if (path == RowPath::lanes) find_jumps(threads);
  s_.codes[0] = s_.codes[n_] = Code::plain;
  finish(row, offset, threads);
  return path;
}

/// Looks at all samples, and clears their codes on the way.
template <class T>
Extent<T> LongRow<T>::measure(const Context& threads) noexcept {
  std::atomic<T> low{std::numeric_limits<T>::max()};
  std::atomic<T> high{std::numeric_limits<T>::lowest()};
  std::atomic<bool> finite{true};
  const auto move = [](std::atomic<T>& bound, T value, auto beyond) {
    T seen = bound.load();
    while (beyond(value, seen) && !bound.compare_exchange_weak(seen, value)) {
    }
  };
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    Extent<T> extent;
    kernels_.measure_rows(x_ + first, 0, 1, last - first, &extent);
    std::fill(s_.codes + first, s_.codes + last, Code::continues);
    move(low, extent.low, std::less<>());
    move(high, extent.high, std::greater<>());
    if (!extent.finite) finite = false;
  });
  return {low, high, finite};
}

template <class T>
void LongRow<T>::stage(const RowSpan<const void>& row, const Context& threads) noexcept {
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    load_row(drop_front(row, first), last - first, s_.x + first);
  });
}

template <class T>
void LongRow<T>::take_off(T offset, const Context& threads) noexcept {
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    for (std::int32_t i = first; i < last; ++i) s_.x[i] = x_[i] - offset;
  });
  x_ = s_.x;
}

template <class T>
LamExtent LongRow<T>::load_lam(std::int64_t row, T most) noexcept {
  if (!per_edge()) return load_row_lam(call_.lam, call_.rows, row, most, lam_);
  const auto edges = call_.lam.array.row(call_.rows, row);
  const LamExtent extent = load_edge_lam(edges, most, kernels_, s_.edge_lam);
  s_.edge_lam[n_ - 1] = 0;
  return extent;
}

template <class T>
void LongRow<T>::find_jumps(const Context& threads) noexcept {
  const std::int32_t coupling = coupling_length();
  const std::int32_t cuts = coupling == 0 ? 0 : find_cuts(coupling, threads);
  const std::int32_t pieces = cuts + 1;
  // Tasks get several shares each: pieces are not equally hard.
  const std::int32_t share = pieces / (4 * concurrency(threads)) + 1;
  const bool alone = concurrency(threads) == 1;
  in_parallel(pieces, std::clamp(share, std::min(kernels_.lanes, kJobsATime), kJobsATime), threads,
              [&](std::int32_t first, std::int32_t last, const PieceScratch<T>& task) {
                solve_pieces(first, last, cuts, alone, task);
              });
}

/// How soon the two searches meet, at three places of the row; 0: not soon enough.
template <class T>
std::int32_t LongRow<T>::coupling_length() noexcept {
  constexpr std::int32_t kProbes = 3;
  Cut probes[kProbes];
  for (std::int32_t i = 0; i < kProbes; ++i) {
    probes[i] = {static_cast<std::int32_t>(std::int64_t{n_} * (i + 1) / (kProbes + 1)),
                 Code::continues};
  }
  for (std::int32_t length = kShortestCoupling; length <= n_ / 64; length *= kCouplingGrowth) {
    look_for_cuts(probes, kProbes, length, s_.other_codes, s_.tasks[0]);
    if (std::all_of(probes, probes + kProbes, [](Cut c) { return c.code != Code::continues; })) {
      return length;
    }
  }
  return 0;
}

/// Looks for a cut behind every so many samples; returns how many there are.
template <class T>
std::int32_t LongRow<T>::find_cuts(std::int32_t coupling, const Context& threads) noexcept {
  const std::int32_t piece = std::max(kShortestPiece, kCouplingsAPiece * coupling);
  const std::int32_t wanted = n_ / piece - 1;
  for (std::int32_t c = 0; c < wanted; ++c) s_.cuts[c] = {(c + 1) * piece, Code::continues};
  in_parallel(wanted, kJobsATime / 2, threads,
              [&](std::int32_t first, std::int32_t last, const PieceScratch<T>& task) {
                for (const std::int32_t length : {coupling, kCouplingGrowth * coupling}) {
                  look_for_cuts(s_.cuts + first, last - first, length,
                                s_.other_codes + std::int64_t{first} * piece, task);
                }
              });
  const Cut* behind =
      std::remove_if(s_.cuts, s_.cuts + wanted, [](Cut c) { return c.code == Code::continues; });
  return static_cast<std::int32_t>(behind - s_.cuts);
}

/// Sends both searches from every cut that is not found yet, for `length` samples,
/// and moves it to where they meet. `other_codes` has room for all those samples.
template <class T>
void LongRow<T>::look_for_cuts(Cut* cuts, std::int32_t count, std::int32_t length,
                               Code* other_codes, const PieceScratch<T>& task) noexcept {
  LaneJobs<T> jobs = {.first = task.first,
                      .last = task.last,
                      .lam = task.lam,
                      .u_start = task.u_start,
                      .x = x_,
                      .edge_lam = per_edge() ? s_.edge_lam : nullptr};
  for (std::int32_t c = 0; c < count; ++c) {
    if (cuts[c].code != Code::continues) continue;
    task.first[jobs.count] = cuts[c].sample;
    task.last[jobs.count] = std::min(cuts[c].sample + length, n_ - 1) - 1;
    task.lam[jobs.count++] = lam_;
  }
  if (jobs.count == 0) return;
  std::fill_n(task.first + jobs.count, kLaneSlack, task.first[0]);
  std::fill_n(task.last + jobs.count, kLaneSlack, kNoJob);
  const auto search = [&](Code start) {
    for (std::int32_t j = 0; j < jobs.count; ++j) {
      task.u_start[j] = dual_before(task.first[j], start);
    }
    FoundJumps found = {.codes = s_.codes, .handed_over = task.handed_over};
    kernels_.find_jumps(jobs, JobEnd::open, LaneShape::long_segments, found);
  };
  const auto for_each_window = [&](auto use) {
    for (std::int32_t j = 0; j < jobs.count; ++j) {
      use(s_.codes + task.first[j], other_codes + std::int64_t{j} * length,
          task.last[j] + 1 - task.first[j]);
    }
  };
  search(Code::down);
  for_each_window([](Code* codes, Code* other, std::int32_t n) {
    std::copy_n(codes, n, other);
    std::fill_n(codes, n, Code::continues);
  });
  search(Code::up);
  Cut* cut = cuts;
  for_each_window([&](Code* codes, const Code* other, std::int32_t n) {
    while (cut->code != Code::continues) ++cut;
    std::int32_t i = 1;
    while (i < n && (codes[i] == Code::continues || codes[i] != other[i])) ++i;
    if (i < n) *cut = {cut->sample + i, codes[i]};
    ++cut;
    std::fill_n(codes, n, Code::continues);
  });
}

/// Piece p lies between cut p - 1 and cut p.
template <class T>
void LongRow<T>::solve_pieces(std::int32_t first, std::int32_t last, std::int32_t cuts, bool alone,
                              const PieceScratch<T>& task) noexcept {
  LaneJobs<T> jobs = {.first = task.first,
                      .last = task.last,
                      .lam = task.lam,
                      .u_start = task.u_start,
                      .u_end = task.u_end,
                      .x = x_,
                      .edge_lam = per_edge() ? s_.edge_lam : nullptr};
  for (std::int32_t p = first; p < last; ++p) {
    const Cut start = p == 0 ? Cut{0, Code::plain} : s_.cuts[p - 1];
    const std::int32_t behind = p == cuts ? n_ : s_.cuts[p].sample;
    s_.codes[start.sample] = start.code;
    task.first[jobs.count] = start.sample;
    task.last[jobs.count] = behind - 1;
    task.lam[jobs.count] = lam_;
    task.u_start[jobs.count] = p == 0 ? T{0} : dual_before(start.sample, start.code);
    task.u_end[jobs.count++] = p == cuts ? T{0} : dual_before(behind, s_.cuts[p].code);
  }
  FoundJumps found = {.codes = s_.codes, .handed_over = task.handed_over};
  const LaneShape shape = choose_shape(jobs);
  // Lanes read, and write back codes, a little beyond their job: not beyond the
  // row, nor where another task is at work.
  const bool all_apart = jobs.count <= kFewJobs;
  const std::int32_t apart = all_apart ? jobs.count : !alone || last > cuts ? 1 : 0;
  jobs.count -= apart;
  if (apart > 0) {
    LaneJobs<T> rest = jobs;
    rest.count = apart;
    for (const T** array : {&rest.lam, &rest.u_start, &rest.u_end}) *array += jobs.count;
    for (const std::int32_t** array : {&rest.first, &rest.last}) *array += jobs.count;
    kPortableTarget.kernels<T>().find_jumps(rest, JobEnd::piece, shape, found);
  }
  if (jobs.count > 0) {
    std::fill_n(task.first + jobs.count, kLaneSlack, task.first[0]);
    std::fill_n(task.last + jobs.count, kLaneSlack, kNoJob);
    kernels_.find_jumps(jobs, JobEnd::piece, shape, found);
  }
  for (std::int32_t i = 0; i < found.handed_over_count; ++i) {
    const HandedOver rest = found.handed_over[i];
    const Cut* end = std::upper_bound(s_.cuts, s_.cuts + cuts, rest.sample,
                                      [](std::int32_t s, const Cut& c) { return s < c.sample; });
    const bool at_end = end == s_.cuts + cuts;
    pull_string(rest, at_end ? n_ : end->sample,
                at_end ? T{0} : dual_before(end->sample, end->code));
  }
}

template <class T>
void LongRow<T>::pull_string(HandedOver rest, std::int32_t behind, T u_end) noexcept {
  Code* codes = s_.codes + rest.sample;
  codes[0] = rest.code;
  const auto pull = [&](const auto& lams) {
    pull_unweighted_string(x_ + rest.sample, behind - rest.sample, lams,
                           static_cast<double>(dual_before(rest.sample, rest.code)),
                           static_cast<double>(u_end), s_.knots + 2 * std::int64_t{rest.sample},
                           [&](std::int32_t k, Code code) { codes[k] = code; });
  };
  if (per_edge()) {
    pull(EdgeLam<T>{s_.edge_lam + rest.sample});
  } else {
    pull(UniformLam<T>{lam_});
  }
}

/// Values and partition, in stretches between jumps that no rounding made up.
template <class T>
void LongRow<T>::finish(std::int64_t row, T offset, const Context& threads) noexcept {
  const auto y = call_.y.row(call_.rows, row);
  const bool straight = y.dtype == kDType<T> && y.stride == 1;
  T* const to = straight ? static_cast<T*>(y.data) : s_.x;
  std::int32_t count = 0;
  s_.stretches[count++] = 0;
  for (std::int32_t from = kStretch; from < n_; from += kStretch) {
    const std::int32_t last = std::min(n_ - from, kStretch) + from;
    const std::int32_t start = find_clear_jump(from, last);
    if (start < last) s_.stretches[count++] = start;
  }
  s_.stretches[count] = n_;
  in_parallel(count, 1, threads, [&](std::int32_t k, std::int32_t, const PieceScratch<T>& task) {
    const std::int32_t first = s_.stretches[k];
    const std::int32_t behind = s_.stretches[k + 1];
    SegmentList<T> segments = task.segments;
    kernels_.finish({.x = x_ + first,
                     .codes = s_.codes + first,
                     .y = to + first,
                     .n = behind - first,
                     .lam = lam_,
                     .edge_lam = per_edge() ? s_.edge_lam + first : nullptr,
                     .offset = offset,
                     .sharp = call_.mode == Mode::sharp},
                    segments);
  });
  if (!straight) write(row, threads);
  if (call_.partition == nullptr) return;
  std::uint32_t* words = call_.partition + row * partition_words(n_);
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    kernels_.pack(s_.codes + first, last - first, words + first / kCodesPerWord);
  });
}

/// The first clear jump in [from, to), or the last that is not quite; `to` where
/// there is none.
template <class T>
std::int32_t LongRow<T>::find_clear_jump(std::int32_t from, std::int32_t to) const noexcept {
  std::int32_t found = to;
  for (std::int32_t s = next_start(s_.codes, from, to); s < to;
       s = next_start(s_.codes, s + 1, to)) {
    found = s;
    if (is_clear_jump(s)) break;
  }
  return found;
}

/// Whether the segments on both sides of a start differ by more than rounding, in
/// the direction that it says.
template <class T>
bool LongRow<T>::is_clear_jump(std::int32_t sample) const noexcept {
  const auto value = [&](std::int32_t first, std::int32_t behind) {
    double sum = 0;
    for (std::int32_t i = first; i < behind; ++i) sum += static_cast<double>(x_[i]);
    if (first > 0) sum += static_cast<double>(dual_before(first, s_.codes[first]));
    if (behind < n_) sum -= static_cast<double>(dual_before(behind, s_.codes[behind]));
    return sum / (behind - first);
  };
  const double left = value(last_start_before(s_.codes, sample), sample);
  const double right = value(sample, next_start(s_.codes, sample + 1, n_));
  return (right - left) * jump_sign(s_.codes[sample]) > static_cast<double>(kRounding<T> * range_);
}

template <class T>
void LongRow<T>::write(std::int64_t row, const Context& threads) noexcept {
  const auto y = call_.y.row(call_.rows, row);
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    store_row(drop_front(y, first), last - first, s_.x + first);
  });
}

template struct LongRowScratch<float>;
template struct LongRowScratch<double>;
template class LongRow<float>;
template class LongRow<double>;

}  // namespace tautline::detail
