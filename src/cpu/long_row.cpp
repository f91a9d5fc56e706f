#include "cpu/long_row.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/lane_shape.h"
#include "cpu/parallel.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

/// Samples that a task takes at a time if order does not matter.
constexpr std::int32_t kBlock = 65536;

/// Rows are finished in stretches of about this length, which stay in the first-level cache; the
/// stretches are longer if segments are long.
constexpr std::int32_t kShortestStretch = 4096;
constexpr std::int32_t kLongestStretch = 65536;

/// A tile has enough pieces to fill the lanes, or twice as many if it then still fits in the
/// second-level cache.
constexpr std::int32_t kFullLanes = 32;
constexpr std::int64_t kTileBytes = 640 << 10;

/// Codes of shorter tiles are in memory that a task reuses.
constexpr std::int32_t kLongTile = 1 << 20;
constexpr std::int32_t kLongPiece = 1 << 15;  // likewise knots of shorter pieces

/// Rounding error of a value, at most, as a fraction of the range.
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

/// The order does not matter here; adding one by one would wait for every addition.
template <class T>
double sum_of(const T* x, std::int32_t n) noexcept {
  constexpr std::int32_t kSums = 16;
  double sums[kSums] = {};
  std::int32_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::int32_t j = 0; j < kSums; ++j) sums[j] += static_cast<double>(x[i + j]);
  }
  double sum = 0;
  for (; i < n; ++i) sum += static_cast<double>(x[i]);
  for (const double part : sums) sum += part;
  return sum;
}

/// Whether the path that some samples of a row led to, with no offset and lam not limited, is the
/// path of the row whatever usual samples follow: more samples only make its range larger and its
/// distance from 0 smaller.
template <class T>
bool is_settled(RowPath path, const Extent<T>& extent, LamExtent lam, std::int32_t n) noexcept {
  return path == RowPath::lanes && choose_offset(extent) == 0 &&
         lam.high < static_cast<double>(unbinding_lam(extent, n));
}

template <class T>
bool has_usual_size(const Extent<T>& extent) noexcept {
  return extent.finite && std::max(std::abs(extent.low), std::abs(extent.high)) <= kLargestSize<T>;
}

constexpr std::int32_t divide_up(std::int32_t a, std::int32_t b) noexcept {
  return (a + b - 1) / b;
}

constexpr std::int32_t word_before(std::int32_t sample) noexcept {
  return sample / kCodesPerWord * kCodesPerWord;
}
constexpr std::int32_t word_behind(std::int32_t sample) noexcept {
  return word_before(sample + kCodesPerWord - 1);
}

/// Calls use(first, behind) for the samples at the ends of a tile whose codes are needed later:
/// those not finished with the tile, and those that share a word with them.
template <class Use>
void for_each_end(const RowTile& tile, const Use& use) {
  const std::int32_t first = tile.first.sample;
  const std::int32_t behind = tile.behind.sample;
  if (tile.finished_from == RowTile::kNowhere) return use(first, behind);
  use(first, std::min(word_behind(tile.finished_from) + 1, behind));
  use(std::max(word_before(tile.finished_to), first), behind);
}

}  // namespace

template <class T>
LongRowScratch<T>::LongRowScratch(Scratch& working, Scratch& spare,
                                  const LongRowLayout& layout) noexcept {
  const std::int64_t samples = layout.n + 2 * kSegmentSlack;
  const std::int64_t most_cuts = CutPlan::most(layout.n);
  const auto behind = [](auto* array, std::int64_t count) {
    return array == nullptr ? array : array + count;
  };
  tasks = working.take<PieceScratch<T>>(layout.tasks);
  for (int i = 0; i < layout.tasks; ++i) {
    PieceScratch<T> task;
    task.jobs = JobScratch<T>(working);
    task.codes = behind(working.take<Code>(kLongTile + 2 * kSegmentSlack), kSegmentSlack);
    task.knots = working.take<Knot>(2 * std::int64_t{kLongPiece});
    const std::int64_t segments =
        2 * std::int64_t{kLongestStretch} + std::int64_t{2} * kSegmentSlack;
    task.segments.starts = working.take<SegmentStart>(segments);
    task.segments.values = behind(working.take<T>(segments), kSegmentSlack);
    task.segments.lam = behind(working.take<T>(segments), kSegmentSlack);
    if (tasks != nullptr) tasks[i] = task;
  }
  cuts = working.take<Cut>(most_cuts);
  tiles = working.take<RowTile>(most_cuts + 1);
  codes = working.take<Code>(samples + (most_cuts + 1) * kTileGap);
  x = (layout.staged ? working : spare).template take<T>(samples);
  if (layout.per_edge) edge_lam = behind(working.take<T>(samples), kSegmentSlack);
  knots = spare.take<Knot>(2 * std::int64_t{layout.n});
}

template <class T>
MemorySize LongRowScratch<T>::size(const LongRowLayout& layout) noexcept {
  Scratch working(nullptr);
  Scratch spare(nullptr);
  LongRowScratch(working, spare, layout);
  return {working.used(), spare.used()};
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
  open(row, threads);
  const RowPath path = choose(row, threads);
  if (path == RowPath::unusual || path == RowPath::wide || is_interrupted(threads)) return path;

  const bool searched = path == RowPath::lanes;
  plan_ = {};
  stretch_ = kLongestStretch;
  if (searched) find_cuts(threads);
  if (is_interrupted(threads)) return path;  // some cuts may be missing
  const std::int32_t tiles = lay_tiles(concurrency(threads));
  in_parallel(tiles, 1, threads, [&](std::int32_t t, std::int32_t, const PieceScratch<T>& task) {
    if (!unusual_) solve_tile(s_.tiles[t], searched, task);
  });
  if (unusual_) return RowPath::unusual;
  if (is_interrupted(threads)) return path;  // some tiles may be unfinished
  if (tiles > 1) finish_gaps(tiles, threads);
  if (!straight_) write(row, threads);
  return path;
}

/// Sets where the row's samples, values and codes are.
template <class T>
void LongRow<T>::open(std::int64_t row, const Context& threads) noexcept {
  const auto x = call_.x.row(call_.rows, row);
  const auto y = call_.y.row(call_.rows, row);
  const bool plain = x.dtype == kDType<T> && x.stride == 1;
  tube_ = {.x = plain ? static_cast<const T*>(x.data) : s_.x,
           .edge_lam = per_edge() ? s_.edge_lam : nullptr,
           .n = n_};
  if (!plain) stage(x, threads);
  straight_ = y.dtype == kDType<T> && y.stride == 1;
  y_ = straight_ ? static_cast<T*>(y.data) : s_.x;
  words_ = call_.partition == nullptr ? nullptr : call_.partition + row * partition_words(n_);
  unusual_ = false;
}

template <class T>
void LongRow<T>::stage(const RowSpan<const void>& row, const Context& threads) noexcept {
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    const RowSpan<const void> from = drop_front(row, first);
    kernels_.load_pixels({from.data, from.dtype, 0, from.stride}, 1, last - first, s_.x + first, 0);
  });
}

/// The first samples mostly determine the path of a row. Whether the others are usual is then
/// checked tile by tile, unless the tiles overwrite them.
template <class T>
RowPath LongRow<T>::choose(std::int64_t row, const Context& threads) noexcept {
  LamExtent lam = {};
  const auto path_of = [&](const Extent<T>& extent) {
    if (is_unusual(extent)) return RowPath::unusual;
    lam = load_lam(row, unbinding_lam(extent, n_));
    return choose_path(extent, lam, n_);
  };
  Extent<T> extent = measure(0, std::min(n_, kBlock));
  RowPath path = path_of(extent);
  const bool settled = is_settled(path, extent, lam, n_);
  measured_ = !settled || (straight_ && tube_.x == y_);
  if (measured_) {
    const Extent<T> all = measure_all(threads);
    if (!has_usual_size(all)) return RowPath::unusual;
    if (!settled) {
      extent = all;
      path = path_of(extent);
    }
  }
  range_ = extent.high - extent.low;
  offset_ = choose_offset(extent);
  if (path == RowPath::unusual || path == RowPath::wide) return path;
  if (offset_ != 0) take_off(offset_, threads);
  return path;
}

template <class T>
Extent<T> LongRow<T>::measure(std::int32_t first, std::int32_t behind) const noexcept {
  Extent<T> extent;
  kernels_.measure_rows(tube_.x + first, 0, 1, behind - first, &extent);
  return extent;
}

template <class T>
Extent<T> LongRow<T>::measure_all(const Context& threads) noexcept {
  std::atomic<T> low{std::numeric_limits<T>::max()};
  std::atomic<T> high{std::numeric_limits<T>::lowest()};
  std::atomic<bool> finite{true};
  const auto move = [](std::atomic<T>& bound, T value, auto beyond) {
    T seen = bound.load();
    while (beyond(value, seen) && !bound.compare_exchange_weak(seen, value)) {
    }
  };
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    const Extent<T> extent = measure(first, last);
    move(low, extent.low, std::less<>());
    move(high, extent.high, std::greater<>());
    if (!extent.finite) finite = false;
  });
  return {low, high, finite};
}

template <class T>
LamExtent LongRow<T>::load_lam(std::int64_t row, T most) noexcept {
  if (!per_edge()) return load_row_lam(call_.lam, call_.rows, row, most, tube_.lam);
  const auto edges = call_.lam.array.row(call_.rows, row);
  const LamExtent extent = load_edge_lam(edges, most, kernels_, s_.edge_lam);
  s_.edge_lam[n_ - 1] = 0;
  return extent;
}

template <class T>
void LongRow<T>::take_off(T offset, const Context& threads) noexcept {
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    for (std::int32_t i = first; i < last; ++i) s_.x[i] = tube_.x[i] - offset;
  });
  tube_.x = s_.x;
}

/// Searches for cuts, enough at a time to fill the lanes several times.
template <class T>
void LongRow<T>::find_cuts(const Context& threads) noexcept {
  const CutFinder<T> finder(tube_, kernels_);
  plan_ = finder.plan(CutLimits::of_long_row(n_), s_.codes, s_.tasks[0].jobs);
  stretch_ = std::clamp(plan_.reach, kShortestStretch, kLongestStretch);
  if (plan_.count == 0) return;
  const std::int32_t share = divide_up(plan_.count, concurrency(threads));
  const std::int32_t chunk = std::min(share, kJobsATime);
  in_parallel(plan_.count, chunk, threads,
              [&](std::int32_t first, std::int32_t last, const PieceScratch<T>& task) {
                finder.find(plan_, first, last, s_.cuts,
                            codes_for(plan_.place(first), plan_.limit(last - 1), s_.codes, task),
                            task.jobs);
              });
}

/// Cuts the row into tiles; returns their number.
template <class T>
std::int32_t LongRow<T>::lay_tiles(int threads) noexcept {
  const std::int32_t pieces = pieces_a_tile(threads);
  std::int32_t tiles = 0;
  RowTile tile = {.first = {0, Code::plain}, .behind = {n_, Code::plain}};
  for (std::int32_t c = pieces - 1; c < plan_.count - 1; c += pieces) {
    if (!is_found(s_.cuts[c])) continue;
    tile.behind = s_.cuts[c];
    tile.last_cut = c;
    s_.tiles[tiles++] = tile;
    tile.first = tile.behind;
    tile.first_cut = c + 1;
  }
  tile.behind = {n_, Code::plain};
  tile.last_cut = plan_.count;
  s_.tiles[tiles++] = tile;
  return tiles;
}

template <class T>
std::int32_t LongRow<T>::pieces_a_tile(int threads) const noexcept {
  if (plan_.count == 0) return 1;
  const std::int64_t piece_bytes = std::int64_t{plan_.spacing} * std::int64_t{sizeof(T)};
  const bool twice = std::int64_t{2} * kFullLanes * piece_bytes <= kTileBytes;
  const std::int32_t most = twice ? 2 * kFullLanes : kFullLanes;
  const std::int32_t rounds = divide_up(divide_up(plan_.count, most), threads);
  return std::max(divide_up(plan_.count, rounds * threads), std::min(kFullLanes / 2, most));
}

/// Where the codes of some samples go: into the task's memory, or, if there are too many for it,
/// into their own `place`.
template <class T>
Code* LongRow<T>::codes_for(std::int32_t first, std::int32_t behind, Code* place,
                            const PieceScratch<T>& task) noexcept {
  return behind - first <= kLongTile ? task.codes - first : place;
}

template <class T>
void LongRow<T>::solve_tile(RowTile& tile, bool searched, const PieceScratch<T>& task) noexcept {
  const std::int32_t first = tile.first.sample;
  const std::int32_t behind = tile.behind.sample;
  if (!measured_ && !has_usual_size(measure(first, behind))) {
    unusual_ = true;
    return;
  }
  Code* const codes = codes_for(first, behind, codes_of(tile), task);
  std::fill(codes + first, codes + behind + kReadAhead, Code::continues);
  if (searched) find_jumps(tile, codes, task);
  codes[first] = tile.first.code;
  codes[behind] = tile.behind.code;
  finish_tile(tile, codes, task);
  if (codes != codes_of(tile)) keep_ends(tile, codes);
}

template <class T>
void LongRow<T>::find_jumps(RowTile& tile, Code* codes, const PieceScratch<T>& task) noexcept {
  const Cut* behind = std::remove_if(s_.cuts + tile.first_cut, s_.cuts + tile.last_cut,
                                     [](Cut cut) { return !is_found(cut); });
  tile.last_cut = static_cast<std::int32_t>(behind - s_.cuts);
  const std::int32_t pieces = tile.last_cut - tile.first_cut + 1;
  for (std::int32_t p = 0; p < pieces; p += kJobsATime) {
    solve_pieces(tile, p, std::min(p + kJobsATime, pieces), codes, task);
  }
}

/// Piece p of a tile lies between its cuts p - 1 and p.
template <class T>
void LongRow<T>::solve_pieces(const RowTile& tile, std::int32_t first, std::int32_t last,
                              Code* codes, const PieceScratch<T>& task) noexcept {
  const JobScratch<T>& scratch = task.jobs;
  const Cut* const cuts = s_.cuts + tile.first_cut;
  const std::int32_t count = tile.last_cut - tile.first_cut;
  LaneJobs<T> jobs = {.first = scratch.first,
                      .last = scratch.last,
                      .lam = scratch.lam,
                      .u_start = scratch.u_start,
                      .u_end = scratch.u_end,
                      .x = tube_.x,
                      .edge_lam = tube_.edge_lam};
  for (std::int32_t p = first; p < last; ++p) {
    const Cut start = p == 0 ? tile.first : cuts[p - 1];
    const Cut behind = p == count ? tile.behind : cuts[p];
    codes[start.sample] = start.code;
    scratch.first[jobs.count] = start.sample;
    scratch.last[jobs.count] = behind.sample - 1;
    scratch.lam[jobs.count] = tube_.lam;
    scratch.u_start[jobs.count] = dual_before(start);
    scratch.u_end[jobs.count++] = dual_before(behind);
  }
  FoundJumps found = {.codes = codes, .handed_over = scratch.handed_over};
  const LaneShape shape = choose_shape(jobs);
  // Lanes read a little past the end of their job, which must not be past the end of the row.
  const bool at_end = scratch.last[jobs.count - 1] == n_ - 1;
  const bool few = jobs.count <= few_jobs(kernels_.lanes, plan_.reach);
  const std::int32_t apart = few ? jobs.count : at_end ? 1 : 0;
  jobs.count -= apart;
  if (apart > 0) {
    LaneJobs<T> rest = jobs;
    rest.count = apart;
    for (const T** array : {&rest.lam, &rest.u_start, &rest.u_end}) *array += jobs.count;
    for (const std::int32_t** array : {&rest.first, &rest.last}) *array += jobs.count;
    kPortableTarget.kernels<T>().find_jumps(rest, JobEnd::piece, shape, found);
  }
  if (jobs.count > 0) {
    scratch.end_jobs(jobs.count);
    kernels_.find_jumps(jobs, JobEnd::piece, shape, found);
  }
  for (std::int32_t i = 0; i < found.handed_over_count; ++i) {
    const HandedOver rest = found.handed_over[i];
    const Cut* end = std::upper_bound(cuts, cuts + count, rest.sample,
                                      [](std::int32_t s, Cut cut) { return s < cut.sample; });
    pull_string(rest, end == cuts + count ? tile.behind : *end, codes, task.knots);
  }
}

template <class T>
void LongRow<T>::pull_string(HandedOver rest, Cut behind, Code* codes, Knot* own_knots) noexcept {
  const std::int32_t first = rest.sample;
  const std::int32_t n = behind.sample - first;
  Knot* const knots = n <= kLongPiece ? own_knots : s_.knots + 2 * std::int64_t{first};
  codes[first] = rest.code;
  const auto pull = [&](const auto& lams) {
    pull_unweighted_string(tube_.x + first, n, lams,
                           static_cast<double>(dual_before({first, rest.code})),
                           static_cast<double>(dual_before(behind)), knots,
                           [&](std::int32_t k, Code code) { codes[first + k] = code; });
  };
  if (per_edge()) {
    pull(EdgeLam<T>{tube_.edge_lam + first});
  } else {
    pull(UniformLam<T>{tube_.lam});
  }
}

/// Values and codes of a tile, in stretches that start at clear jumps.
template <class T>
void LongRow<T>::finish_tile(RowTile& tile, Code* codes, const PieceScratch<T>& task) noexcept {
  const std::int32_t behind = tile.behind.sample;
  const bool at_end = behind == n_;
  std::int32_t start = tile.first.sample == 0 ? 0 : RowTile::kNowhere;
  tile.finished_from = start;
  const auto go_on = [&](std::int32_t next) {
    if (start == RowTile::kNowhere) {
      tile.finished_from = next;
    } else {
      finish(start, next, codes, task);
    }
    start = next;
  };
  // The previous tile reads the first samples of this one, and y may be x.
  const std::int32_t first = tile.first.sample + kReadAhead;
  for (std::int32_t from = (first / stretch_ + 1) * stretch_;
       from + (at_end ? 1 : stretch_) <= behind; from += stretch_) {
    const std::int32_t to = std::min(from + stretch_, behind);
    const std::int32_t next = find_clear_jump(codes, from, to);
    if (next < to) go_on(next);
  }
  if (at_end) go_on(n_);
  tile.finished_to = start;
  if (start == RowTile::kNowhere) return;
  pack(codes, word_behind(tile.finished_from), at_end ? n_ : word_before(tile.finished_to));
}

/// Copies the codes at the tile's ends to the tile's own place.
template <class T>
void LongRow<T>::keep_ends(const RowTile& tile, const Code* codes) noexcept {
  for_each_end(tile, [&](std::int32_t first, std::int32_t behind) {
    if (first < behind) std::copy(codes + first, codes + behind, codes_of(tile) + first);
  });
}

/// Finishes the gaps between the finished parts of tiles.
template <class T>
void LongRow<T>::finish_gaps(std::int32_t tiles, const Context& threads) noexcept {
  // Tile by tile, as codes move towards the front.
  for (const RowTile* tile = s_.tiles; tile != s_.tiles + tiles; ++tile) {
    for_each_end(*tile, [&](std::int32_t first, std::int32_t behind) {
      if (first < behind)
        std::copy(codes_of(*tile) + first, codes_of(*tile) + behind, s_.codes + first);
    });
  }
  s_.codes[n_] = Code::plain;
  const auto for_gap = [&](std::int32_t tile, const auto& use) {
    const std::int32_t from = s_.tiles[tile].finished_to;
    if (from == RowTile::kNowhere) return;  // inside a gap that began earlier
    do {
      ++tile;
    } while (s_.tiles[tile].finished_from == RowTile::kNowhere);
    use(from, s_.tiles[tile].finished_from);
  };
  in_parallel(tiles - 1, 1, threads, [&](std::int32_t t, std::int32_t, const auto& task) {
    for_gap(t, [&](std::int32_t from, std::int32_t to) { finish_gap(from, to, task); });
  });
  for (std::int32_t t = 0; t < tiles - 1; ++t) {  // serially: two gaps may share a word
    for_gap(t, [&](std::int32_t from, std::int32_t to) {
      pack(s_.codes, word_before(from), to == n_ ? n_ : word_behind(to));
    });
  }
}

template <class T>
void LongRow<T>::finish_gap(std::int32_t start, std::int32_t behind,
                            const PieceScratch<T>& task) noexcept {
  const std::int32_t last = behind == n_ ? n_ : behind / stretch_ * stretch_;
  for (std::int32_t from = (start / stretch_ + 1) * stretch_; from < last; from += stretch_) {
    const std::int32_t to = std::min(from + stretch_, last);
    const std::int32_t next = find_clear_jump(s_.codes, from, to);
    if (next == to) continue;
    finish(start, next, s_.codes, task);
    start = next;
  }
  finish(start, behind, s_.codes, task);
}

template <class T>
void LongRow<T>::finish(std::int32_t first, std::int32_t behind, Code* codes,
                        const PieceScratch<T>& task) noexcept {
  SegmentList<T> segments = task.segments;
  kernels_.finish({.x = tube_.x + first,
                   .codes = codes + first,
                   .y = y_ + first,
                   .n = behind - first,
                   .lam = tube_.lam,
                   .edge_lam = per_edge() ? tube_.edge_lam + first : nullptr,
                   .offset = offset_,
                   .sharp = call_.mode == Mode::sharp},
                  segments);
}

/// The first clear jump in [from, to); else the last jump; else `to`. One is searched in every
/// stretch of the row, whatever its tiles are.
template <class T>
std::int32_t LongRow<T>::find_clear_jump(const Code* codes, std::int32_t from,
                                         std::int32_t to) const noexcept {
  std::int32_t found = to;
  for (std::int32_t s = next_start(codes, from, to); s < to; s = next_start(codes, s + 1, to)) {
    found = s;
    if (is_clear_jump(codes, s)) break;
  }
  return found;
}

/// Whether the segments on both sides of a start differ by more than rounding, in the direction of
/// its code.
template <class T>
bool LongRow<T>::is_clear_jump(const Code* codes, std::int32_t sample) const noexcept {
  const auto value = [&](std::int32_t first, std::int32_t behind) {
    const T left = dual_before({first, codes[first]});
    const T right = dual_before({behind, codes[behind]});
    const double sum = sum_of(tube_.x + first, behind - first);
    return (sum + (static_cast<double>(left) - static_cast<double>(right))) / (behind - first);
  };
  const double left = value(last_start_before(codes, sample), sample);
  const double right = value(sample, next_start(codes, sample + 1, n_));
  return (right - left) * jump_sign(codes[sample]) > static_cast<double>(kRounding<T> * range_);
}

/// Packs the codes of [first, behind), which consists of whole words or ends with the row.
template <class T>
void LongRow<T>::pack(const Code* codes, std::int32_t first, std::int32_t behind) noexcept {
  if (words_ == nullptr || first >= behind) return;
  kernels_.pack(codes + first, behind - first, words_ + first / kCodesPerWord);
}

template <class T>
void LongRow<T>::write(std::int64_t row, const Context& threads) noexcept {
  const auto y = call_.y.row(call_.rows, row);
  in_parallel(n_, kBlock, threads, [&](std::int32_t first, std::int32_t last, const auto&) {
    const RowSpan<void> to = drop_front(y, first);
    kernels_.store_pixels({{to.data, to.dtype, 0, to.stride}, 1, last - first, s_.x + first, 0});
  });
}

template struct LongRowScratch<float>;
template struct LongRowScratch<double>;
template class LongRow<float>;
template class LongRow<double>;

}  // namespace tautstring::detail
