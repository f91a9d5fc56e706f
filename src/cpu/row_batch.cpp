#include "cpu/row_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/lane_shape.h"
#include "cpu/tile_pitch.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

/// Tiles have this many samples; or this many rows, so that all lanes are busy to the end, unless
/// they need too much memory; but at least one row per lane.
constexpr std::int64_t kTileSamples = 32768;
constexpr std::int64_t kManyRows = 128;
constexpr std::int64_t kManySamples = 1 << 20;
constexpr std::int64_t kFewestRows = 32;

/// Samples that are finished together while they are in the first-level cache.
constexpr std::int32_t kStretch = 4096;

/// Up to this many jobs, the plain code is faster.
constexpr std::int32_t kFewJobs = 2;

/// Fewer rows than a lane per so many are searched in pieces: one by one, in all lanes.
constexpr std::int32_t kRowsPerLane = 4;

/// lam if it is one number, made finite: with an infinite lam nothing jumps.
template <class T>
T finite_lam(const RowLam& lam) noexcept {
  constexpr T kMost = std::numeric_limits<T>::max();
  return lam.number < static_cast<double>(kMost) ? static_cast<T>(lam.number) : kMost;
}

}  // namespace

TileLayout::TileLayout(const Rows& batch, int tasks) noexcept
    : n(batch.n), pitch(tile_pitch(batch.n)) {
  const std::int64_t share = (batch.count + tasks - 1) / tasks;
  const std::int64_t length = std::max(n, 1);
  const std::int64_t many = std::clamp(kManySamples / length, kFewestRows, kManyRows);
  rows = static_cast<std::int32_t>(std::min(share, std::max(kTileSamples / length, many)));
  rows = std::max(rows, 1);
  // Rows that are not short can be written directly to y, one by one, across the gaps.
  const bool alone = pitch != n && n >= kUnluckyPitch;
  together = alone ? 1 : static_cast<std::int32_t>(std::max<std::int64_t>(1, kStretch / pitch));
}

template <class T>
std::size_t TileScratch<T>::bytes(const TileLayout& layout) noexcept {
  Scratch counter(nullptr);
  TileScratch().cut(counter, layout);
  return counter.used();
}

template <class T>
TileScratch<T>::TileScratch(Scratch scratch, const TileLayout& layout) noexcept {
  cut(scratch, layout);
}

template <class T>
void TileScratch<T>::cut(Scratch& scratch, const TileLayout& layout) noexcept {
  const std::int64_t samples = layout.rows * layout.pitch + std::int64_t{2} * kSegmentSlack;
  const auto padded = [](auto* array) { return array == nullptr ? array : array + kSegmentSlack; };
  x = padded(scratch.take<T>(samples));
  if (layout.per_edge) edge_lam = padded(scratch.take<T>(samples));
  if (layout.narrow) narrow = scratch.take<std::uint16_t>(samples);
  codes = padded(scratch.take<Code>(samples));
  first = scratch.take<std::int32_t>(layout.rows + kLaneSlack);
  last = scratch.take<std::int32_t>(layout.rows + kLaneSlack);
  lam = scratch.take<T>(layout.rows + kLaneSlack);
  row_lam = scratch.take<T>(layout.rows);
  offset = scratch.take<T>(layout.rows);
  row = scratch.take<std::int64_t>(layout.rows);
  extent = scratch.take<Extent<T>>(layout.rows);
  path = scratch.take<RowPath>(layout.rows);
  handed_over = scratch.take<HandedOver>(layout.rows);
  knots = scratch.take<Knot>(2 * std::int64_t{layout.n});
  split = RowSplitScratch<T>(scratch);
  const std::int64_t stretch =
      std::int64_t{layout.together} * layout.pitch + std::int64_t{2} * kSegmentSlack;
  segments.starts = scratch.take<SegmentStart>(stretch);
  segments.values = padded(scratch.take<T>(stretch));
  segments.lam = padded(scratch.take<T>(stretch));
}

template <class T>
RowBatch<T>::RowBatch(const Forward1d& call, const CpuTarget& target, const TileLayout& layout,
                      const TileScratch<T>& tile) noexcept
    : call_(call),
      kernels_(target.kernels<T>()),
      layout_(layout),
      t_(tile),
      segments_(tile.segments),
      mover_(target, tile.narrow),
      order_(call.x, call.rows),
      x_(call.x, call.rows, order_),
      y_(call.y, call.rows, order_),
      number_lam_(finite_lam<T>(call.lam)) {}

template <class T>
void RowBatch<T>::solve(std::int64_t first, std::int32_t count, LeftRows& wide,
                        LeftRows& unusual) noexcept {
  used_ = count;
  for (std::int32_t slot = 0; slot < count; ++slot) t_.row[slot] = order_.row_at(first + slot);
  load_all();
  solve_loaded(wide, unusual);
}

template <class T>
void RowBatch<T>::solve(const LeftRows& rows, LeftRows& unusual) noexcept {
  used_ = rows.count;
  std::copy(rows.rows, rows.rows + rows.count, t_.row);
  for (std::int32_t slot = 0; slot < used_; ++slot) load(slot, 1);
  solve_loaded(/*wide=*/unusual, unusual);  // the careful solver takes any row
}

/// Loads rows that are consecutive in the order.
template <class T>
void RowBatch<T>::load_all() noexcept {
  for (std::int32_t slot = 0; slot < used_;) {
    const std::int64_t row = t_.row[slot];
    const auto rows =
        static_cast<std::int32_t>(std::min<std::int64_t>(used_ - slot, x_.neighbours(row)));
    load(slot, rows);
    slot += rows;
  }
}

/// Loads rows that are a step apart.
template <class T>
void RowBatch<T>::load(std::int32_t slot, std::int32_t rows) noexcept {
  const RowSpan<const void> from = x_[t_.row[slot]];
  T* to = t_.x + slot * layout_.pitch;
  if (from.dtype == kDType<T> && from.stride == 1) {
    return kernels_.copy_rows(static_cast<const T*>(from.data), x_.step(), rows, layout_.n, to,
                              layout_.pitch, t_.extent + slot);
  }
  mover_.load(from, x_.step(), rows, to, layout_.pitch);
  kernels_.measure_rows(to, layout_.pitch, rows, layout_.n, t_.extent + slot);
}

template <class T>
void RowBatch<T>::solve_loaded(LeftRows& wide, LeftRows& unusual) noexcept {
  const std::int64_t samples = used_ * layout_.pitch;
  std::fill(t_.codes, t_.codes + samples + kSegmentSlack, Code::continues);
  bool any_offset = false;
  all_solved_ = true;
  for (std::int32_t slot = 0; slot < used_; ++slot) {
    for (std::int64_t i = layout_.n; i < layout_.pitch; ++i) t_.x[slot * layout_.pitch + i] = 0;
    t_.path[slot] = classify(slot);
    any_offset = any_offset || t_.offset[slot] != 0;
    if (is_solved(slot)) continue;
    all_solved_ = false;
    if (per_edge()) {  // a neighbour multiplies these values by 0
      std::fill_n(t_.edge_lam + slot * layout_.pitch, layout_.pitch, T{0});
    }
    (t_.path[slot] == RowPath::wide ? wide : unusual).add(t_.row[slot]);
  }
  find_jumps();
  for (std::int32_t slot = 0; slot < used_; ++slot) {
    // The padding up to the pitch is a segment of its own.
    t_.codes[slot * layout_.pitch + layout_.n] = Code::plain;
    t_.codes[slot * layout_.pitch] = Code::plain;
  }
  const std::int32_t together = any_offset ? 1 : layout_.together;
  const bool straight = can_finish_straight(together);
  for (std::int32_t slot = 0; slot < used_; slot += together) {
    finish(slot, std::min(together, used_ - slot), straight);
  }
  if (!straight) write_all();
  if (call_.partition != nullptr) pack_all();
}

/// Reads lam and chooses the path of a row.
template <class T>
RowPath RowBatch<T>::classify(std::int32_t slot) noexcept {
  const Extent<T>& extent = t_.extent[slot];
  t_.offset[slot] = 0;
  if (!call_.lam.array.given && is_plain(extent, number_lam_, layout_.n)) {
    t_.row_lam[slot] = number_lam_;
    return RowPath::lanes;
  }
  t_.row_lam[slot] = 0;
  if (is_unusual(extent)) return RowPath::unusual;
  const LamExtent lam = load_lam(slot, unbinding_lam(extent, layout_.n));
  const RowPath path = choose_path(extent, lam, layout_.n);
  if (path == RowPath::unusual || path == RowPath::wide) return path;
  t_.offset[slot] = choose_offset(extent);
  if (t_.offset[slot] != 0) {
    T* x = t_.x + slot * layout_.pitch;
    for (std::int32_t i = 0; i < layout_.n; ++i) x[i] -= t_.offset[slot];
  }
  return path;
}

template <class T>
LamExtent RowBatch<T>::load_lam(std::int32_t slot, T most) noexcept {
  if (!per_edge()) {
    return load_row_lam(call_.lam, call_.rows, t_.row[slot], most, t_.row_lam[slot]);
  }
  T* edges = t_.edge_lam + slot * layout_.pitch;
  const auto row = call_.lam.array.row(call_.rows, t_.row[slot]);
  const LamExtent extent = load_edge_lam(row, most, kernels_, edges);
  std::fill(edges + layout_.n - 1, edges + layout_.pitch, T{0});
  return extent;
}

template <class T>
void RowBatch<T>::find_jumps() noexcept {
  LaneJobs<T> jobs = {.first = t_.first,
                      .last = t_.last,
                      .lam = t_.lam,
                      .x = t_.x,
                      .edge_lam = per_edge() ? t_.edge_lam : nullptr};
  const bool splits = used_ <= kernels_.lanes / kRowsPerLane && layout_.n >= kShortestSplit;
  for (std::int32_t slot = 0; slot < used_; ++slot) {
    if (t_.path[slot] != RowPath::lanes) continue;
    if (splits && split(slot)) continue;
    t_.first[jobs.count] = static_cast<std::int32_t>(slot * layout_.pitch);
    t_.last[jobs.count] = t_.first[jobs.count] + layout_.n - 1;
    t_.lam[jobs.count++] = t_.row_lam[slot];
  }
  if (jobs.count == 0) return;
  std::fill_n(t_.first + jobs.count, kLaneSlack, kNoJob);
  std::fill_n(t_.last + jobs.count, kLaneSlack, kNoJob);
  std::fill_n(t_.lam + jobs.count, kLaneSlack, T{0});
  FoundJumps found = {.codes = t_.codes, .handed_over = t_.handed_over};
  if (jobs.count > kFewJobs) {
    kernels_.find_jumps(jobs, JobEnd::row, choose_shape(jobs), found);
  } else {
    kPortableTarget.kernels<T>().find_jumps(jobs, JobEnd::row, LaneShape::medium_segments, found);
  }
  for (std::int32_t i = 0; i < found.handed_over_count; ++i) pull_string(found.handed_over[i]);
}

/// Whether the jumps of a row were found in pieces.
template <class T>
bool RowBatch<T>::split(std::int32_t slot) const noexcept {
  const std::int64_t first = slot * layout_.pitch;
  const RowTube<T> row = {.x = t_.x + first,
                          .edge_lam = per_edge() ? t_.edge_lam + first : nullptr,
                          .lam = t_.row_lam[slot],
                          .n = layout_.n};
  return RowSplit<T>(row, kernels_, t_.split, t_.codes + first).find_jumps();
}

/// Solves the rest of a row that the direct method would read again too often.
template <class T>
void RowBatch<T>::pull_string(HandedOver rest) noexcept {
  const auto slot = static_cast<std::int32_t>(rest.sample / layout_.pitch);
  const std::int64_t behind = slot * layout_.pitch + layout_.n;
  const auto n = static_cast<std::int32_t>(behind - rest.sample);
  const T* x = t_.x + rest.sample;
  Code* codes = t_.codes + rest.sample;
  codes[0] = rest.code;
  const auto pull = [&](const auto& lams, T lam_before) {
    const double u_start = -jump_sign(rest.code) * static_cast<double>(lam_before);
    pull_unweighted_string(x, n, lams, u_start, 0.0, t_.knots,
                           [&](std::int32_t k, Code code) { codes[k] = code; });
  };
  if (per_edge()) {
    const T* edges = t_.edge_lam + rest.sample;
    pull(EdgeLam<T>{edges}, edges[-1]);
  } else {
    pull(UniformLam<T>{t_.row_lam[slot]}, t_.row_lam[slot]);
  }
}

/// Whether the rows of the tile follow one another in the batch. Rows that are taken in another
/// order than the batch's never do, wherever the first and the last one are.
template <class T>
bool RowBatch<T>::are_consecutive() const noexcept {
  return order_.step() == 1 && t_.row[used_ - 1] - t_.row[0] == used_ - 1;
}

/// Whether rows that are finished together can be written directly to y.
template <class T>
bool RowBatch<T>::can_finish_straight(std::int32_t together) const noexcept {
  if (call_.y.dtype != kDType<T> || call_.y.stride != 1 || !all_solved_) return false;
  const bool is_one_run = are_consecutive() && y_.neighbours(t_.row[0]) >= used_;
  // The padding up to the pitch is not part of the row.
  return together == 1 || used_ == 1 ||
         (is_one_run && y_.step() == layout_.pitch && layout_.pitch == layout_.n);
}

template <class T>
void RowBatch<T>::finish(std::int32_t slot, std::int32_t rows, bool straight) noexcept {
  SolvedStretch<T> stretch = {
      .x = t_.x + slot * layout_.pitch,
      .codes = t_.codes + slot * layout_.pitch,
      .y = straight ? static_cast<T*>(y_[t_.row[slot]].data) : t_.x + slot * layout_.pitch,
      .n = static_cast<std::int32_t>((rows - 1) * layout_.pitch + layout_.n),
      .lam = number_lam_,
      .offset = t_.offset[slot],
      .sharp = call_.mode == Mode::sharp};
  if (per_edge()) stretch.edge_lam = t_.edge_lam + slot * layout_.pitch;
  if (call_.lam.array.given && !per_edge()) {
    stretch.row_lam = t_.row_lam + slot;
    stretch.row_length = static_cast<std::int32_t>(layout_.pitch);
  }
  kernels_.finish(stretch, segments_);
}

template <class T>
void RowBatch<T>::write_all() noexcept {
  for (std::int32_t slot = 0; slot < used_;) {
    if (!is_solved(slot)) {
      ++slot;
      continue;
    }
    const std::int64_t neighbours = y_.neighbours(t_.row[slot]);
    std::int32_t behind = slot + 1;
    while (behind < used_ && behind - slot < neighbours && is_solved(behind) &&
           t_.row[behind] == t_.row[behind - 1] + order_.step()) {
      ++behind;
    }
    mover_.store(t_.x + slot * layout_.pitch, layout_.pitch, behind - slot, y_[t_.row[slot]],
                 y_.step());
    slot = behind;
  }
}

template <class T>
void RowBatch<T>::pack_all() noexcept {
  const auto words = [&](std::int32_t slot) {
    return call_.partition + t_.row[slot] * partition_words(layout_.n);
  };
  if (all_solved_ && are_consecutive() && layout_.pitch == layout_.n) {
    return kernels_.pack(t_.codes, used_ * layout_.pitch, words(0));
  }
  for (std::int32_t slot = 0; slot < used_; ++slot) {
    if (is_solved(slot)) kernels_.pack(t_.codes + slot * layout_.pitch, layout_.n, words(slot));
  }
}

template struct TileScratch<float>;
template struct TileScratch<double>;
template class RowBatch<float>;
template class RowBatch<double>;

}  // namespace tautstring::detail
