// The Newton solver on the CPU: threads share the rows, and a thread solves as many at a time as a
// vector has lanes. Rows that the lanes do not take, or give up, are solved one by one.
#include <algorithm>
#include <bit>

#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/row_places.h"
#include "cpu/targets.h"
#include "cpu/tile_pitch.h"
#include "cpu/value_checks.h"
#include "step/row/newton_worker.h"

namespace tautstring::detail {
namespace {

/// Solves the rows of one task.
class NewtonChunks {
 public:
  NewtonChunks(const NewtonForward1d& call, const CpuTarget& target, Scratch& scratch) noexcept
      : call_(call),
        n_(call.problem.rows.n),
        worker_(call, NewtonScratch(scratch, n_)),
        kernels_(target.float64),
        solve_(target.newton),
        count_(has_lanes(n_) && !call.start.given ? target.newton_lanes : 0),
        x_(call.problem.x, call.problem.rows),
        y_(call.problem.y, call.problem.rows),
        dual_(call.dual, call.problem.rows) {
    if (has_lanes(n_)) take_memory(scratch, n_, lanes_, tile_);
    const RowLam& lam = call.problem.lam;
    if (!lam.array.given || lam.array.size <= 1) lanes_.edge_lam = nullptr;
    lanes_.n = n_;
    lanes_.iterations = call.newton.iterations;
    lanes_.tol = call.newton.tol;
    lanes_.sharp = call.problem.mode == Mode::sharp;
    lanes_.wants_dual = call.dual.given || wants_quality(call) || call.newton.tol > 0;
  }

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    if (count_ == 0) {
      for (std::int64_t row = first; row < last; ++row) worker_(row);
      return;
    }
    for (std::int64_t row = first; row < last; row += count_) {
      solve(row, static_cast<std::int32_t>(std::min<std::int64_t>(last - row, count_)));
    }
  }

  static std::size_t scratch_bytes(std::int32_t n) noexcept {
    Scratch scratch(nullptr);
    NewtonScratch(scratch, n);
    NewtonLanes lanes;
    double* tile = nullptr;
    if (has_lanes(n)) take_memory(scratch, n, lanes, tile);
    return scratch.used();
  }

 private:
  static constexpr bool has_lanes(std::int32_t n) noexcept {
    return n > 0 && n <= kLongestNewtonLane;
  }

  static void take_memory(Scratch& scratch, std::int32_t n, NewtonLanes& lanes,
                          double*& tile) noexcept {
    constexpr std::int64_t kReadAhead = 8;  // by a vector of bits
    const std::int64_t samples = newton_lane_samples(n);
    lanes.x = scratch.take<double>(kMostNewtonLanes * samples);
    lanes.edge_lam = scratch.take<double>(kMostNewtonLanes * samples);
    lanes.u = scratch.take<double>(kMostNewtonLanes * (std::int64_t{n} + 2));
    if (lanes.u != nullptr) lanes.u += kMostNewtonLanes;
    lanes.values = scratch.take<double>(kMostNewtonLanes * std::int64_t{n});
    lanes.fixed = scratch.take<std::uint8_t>(n + kReadAhead);
    lanes.words = scratch.take<std::uint64_t>(kMostNewtonLanes * partition_words(n));
    tile = scratch.take<double>(kMostNewtonLanes * tile_pitch(n));
  }

  /// Solves as many rows as there are lanes, or the remaining ones.
  void solve(std::int64_t first, std::int32_t rows) noexcept {
    load_x(first, rows);
    load_lam(first, rows);
    if (lanes_.taken != 0) solve_(lanes_);
    std::uint32_t done = 0;
    for (std::int32_t j = 0; j < rows; ++j) {
      const bool is_done = (lanes_.taken >> j & 1) != 0 && lanes_.done[j] > 0;
      done |= static_cast<std::uint32_t>(is_done) << j;
    }
    store_rows(y_, first, lanes_.values, n_, done);
    if (call_.dual.given) store_rows(dual_, first, lanes_.u, n_ - 1, done);
    for (std::int32_t j = 0; j < rows; ++j) {
      if ((done >> j & 1) == 0) {
        worker_(first + j);
      } else {
        store_rest(first + j, j);
      }
    }
  }

  /// Also decides which rows the lanes take.
  void load_x(std::int64_t first, std::int32_t rows) noexcept {
    const double* from = tile_;
    std::int64_t pitch = tile_pitch(n_);
    if (is_plain(call_.problem.x) && x_.neighbours(first) >= rows) {
      from = static_cast<const double*>(x_[first].data);
      pitch = x_.step();
    } else {
      for (std::int32_t j = 0; j < rows; ++j) load_row(x_[first + j], n_, tile_ + j * pitch);
    }
    Extent<double> extents[kMostNewtonLanes];
    kernels_.measure_rows(from, pitch, rows, n_, extents);
    lanes_.taken = 0;
    for (std::int32_t j = 0; j < count_; ++j) {
      NewtonFrame frame;
      if (j < rows && extents[j].finite) {
        frame = newton_frame(extents[j].low, extents[j].high, from[j * pitch]);
        lanes_.taken |= static_cast<std::uint8_t>(1 << j);
      }
      lanes_.offset[j] = frame.offset;
      lanes_.scale[j] = frame.scale;
      lanes_.range[j] = frame.range;
    }
    kernels_.columns.scatter(from, pitch, rows, n_, lanes_.x, count_);
  }

  /// Excludes rows with an edge of lam 0.
  void load_lam(std::int64_t first, std::int32_t rows) noexcept {
    std::fill(lanes_.lam, lanes_.lam + count_, 1.0);
    for (std::int32_t j = 0; j < rows; ++j) {
      if (!load_row_lam(first + j, j)) lanes_.taken &= static_cast<std::uint8_t>(~(1 << j));
    }
    if (lanes_.edge_lam == nullptr) return;
    kernels_.columns.scatter(tile_, tile_pitch(n_), rows, n_ - 1, lanes_.edge_lam, count_);
  }

  /// Loads into the tile if there is one per edge. Returns whether no edge has lam 0.
  bool load_row_lam(std::int64_t row, std::int32_t j) noexcept {
    const Forward1d& problem = call_.problem;
    double* edges = tile_ + j * tile_pitch(n_);
    const LoadedLam loaded = detail::load_lam(problem.lam, problem.rows, row, edges);
    if (!loaded.per_edge) {
      lanes_.lam[j] = scale_lam(loaded.number, lanes_.scale[j], 1);
      return loaded.number > 0;
    }
    const bool is_positive = *std::min_element(edges, edges + n_ - 1) > 0;
    for (std::int32_t e = 0; e < n_ - 1; ++e) {
      edges[e] = scale_lam(edges[e], lanes_.scale[j], 1);
    }
    return is_positive;
  }

  /// Stores from the lanes to the rows, starting with `first`, whose bits are set.
  void store_rows(const RowPlaces<void>& places, std::int64_t first, const double* lanes,
                  std::int32_t size, std::uint32_t done) noexcept {
    const RowSpan<void> span = places[first];
    const bool are_all = done == (1U << count_) - 1 && places.neighbours(first) >= count_;
    if (are_all && is_plain(span)) {
      auto* to = static_cast<double*>(span.data);
      return kernels_.columns.gather(lanes, count_, count_, size, to, places.step());
    }
    const std::int64_t pitch = tile_pitch(n_);
    kernels_.columns.gather(lanes, count_, count_, size, tile_, pitch);
    for (; done != 0; done &= done - 1) {
      const int j = std::countr_zero(done);
      store_row(places[first + j], size, tile_ + j * pitch);
    }
  }

  void store_rest(std::int64_t row, std::int32_t j) noexcept {
    if (std::uint32_t* words = call_.problem.partition; words != nullptr) {
      const std::int64_t size = partition_words(n_);
      for (std::int64_t i = 0; i < size; ++i) {
        words[row * size + i] = static_cast<std::uint32_t>(lanes_.words[i * count_ + j]);
      }
    }
    if (call_.iterations != nullptr) call_.iterations[row] = lanes_.done[j];
    if (!wants_quality(call_)) {
      if (call_.converged != nullptr) call_.converged[row] = 1;
      return;
    }
    const double scale = lanes_.scale[j];
    const RowQuality quality = quality_of(j);
    if (call_.gap != nullptr) call_.gap[row] = quality.reported_gap() / scale / scale;
    if (call_.converged != nullptr) {
      call_.converged[row] = quality.is_within(call_.newton.tol) ? 1 : 0;
    }
  }

  /// The quality of the row in lane j as it is returned.
  [[nodiscard]] RowQuality quality_of(std::int32_t j) const noexcept {
    const double scale = lanes_.scale[j];
    const ReturnedRow returned = {call_.problem.y.dtype, lanes_.sharp, lanes_.offset[j], scale};
    if (returned.is_exact()) return {lanes_.gap[j], lanes_.objective[j]};
    const auto in_lane = [&](const double* numbers) {
      return [=, this](std::int32_t k) { return numbers[std::int64_t{k} * count_ + j]; };
    };
    const auto x = in_lane(lanes_.x);
    const auto y = in_lane(lanes_.values);
    const auto u = in_lane(lanes_.u);
    const auto edge_lam = in_lane(lanes_.edge_lam);
    return quality_of_row(
        n_, x, [&](std::int32_t i) { return returned.smooth(y(i), x(i)); },
        [&](std::int32_t e) { return u(e) * scale; },
        [&](std::int32_t e) { return lanes_.edge_lam == nullptr ? lanes_.lam[j] : edge_lam(e); });
  }

  /// Whether rows are in memory in the form used for computing.
  template <class Array>
  static bool is_plain(const Array& array) noexcept {
    return array.dtype == DType::float64 && array.stride == 1;
  }

  const NewtonForward1d& call_;
  std::int32_t n_;
  NewtonWorker worker_;
  const VectorKernels<double>& kernels_;
  void (*solve_)(NewtonLanes&) noexcept;
  std::int32_t count_;  // lanes; 0: single rows
  RowPlaces<const void> x_;
  RowPlaces<void> y_;
  RowPlaces<void> dual_;
  NewtonLanes lanes_;
  double* tile_ = nullptr;  // a row for each lane, tile_pitch apart
};

/// Tasks take multiples of the lane count, so that lanes are full.
Sharing share_lanes(const Rows& rows, const Context& context) noexcept {
  constexpr std::int64_t kLanes = kMostNewtonLanes;
  const std::int64_t chunk = share_rows(rows, context).chunk;
  return {rows.count, (chunk + kLanes - 1) / kLanes * kLanes, context};
}

}  // namespace

std::size_t newton1d_workspace(const Rows& rows, const Context& context) noexcept {
  const auto tasks = static_cast<std::size_t>(share_lanes(rows, context).tasks);
  return NewtonChunks::scratch_bytes(rows.n) * tasks;
}

Status newton1d(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  if (const Status status = check_lam(call.problem.lam, rows); !status.ok()) return status;
  if (rows.count == 0) return {};
  const std::size_t task_bytes = NewtonChunks::scratch_bytes(rows.n);
  const CallMemory memory({newton1d_workspace(rows, context)}, context, kWorkspaceNewton1d);
  if (!memory.status().ok()) return memory.status();
  const CpuTarget& target = chosen_cpu_target();
  for_each_chunk(share_lanes(rows, context), memory.blocks().working, task_bytes, context,
                 [&](Scratch& scratch) { return NewtonChunks(call, target, scratch); });
  return {};
}

}  // namespace tautstring::detail
