// Solves one long row. It is cut into pieces (row_cuts.h decides where), which are solved side by
// side in vector lanes and by threads.
//
// A task processes a tile of neighbouring pieces from their samples to their values and packed
// codes while it is in the cache. Each tile is finished from its first clear jump to its last one.
// The gap between the finished parts of two tiles is finished at the end.
//
// The result depends on the row only, not on threads or lanes.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend.h"
#include "cpu/bounded_lam.h"
#include "cpu/call_memory.h"
#include "cpu/row_cuts.h"
#include "cpu/row_path.h"
#include "cpu/targets.h"
#include "step/fast_taut_string.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// Rows longer than this have enough pieces to fill the lanes.
inline constexpr std::int32_t kLongRow = 65535;

/// Distance between the codes of neighbouring tiles: lanes read a little past the end of their job
/// and write that back.
inline constexpr std::int32_t kTileGap = 64;

/// Neighbouring pieces, between two cuts or ends of the row.
struct RowTile {
  static constexpr std::int32_t kNowhere = -1;

  Cut first;
  Cut behind;
  std::int32_t first_cut = 0;  // of the cuts within
  std::int32_t last_cut = 0;
  std::int32_t finished_from = kNowhere;  // both are at a jump or an end of the row
  std::int32_t finished_to = kNowhere;
};

/// The scratch memory of one task.
template <class T>
struct PieceScratch {
  JobScratch<T> jobs;
  Code* codes = nullptr;  // of a tile, unless the tile is too long
  Knot* knots = nullptr;  // of a piece, likewise
  SegmentList<T> segments;
};

/// What the scratch memory of long rows must suffice for.
struct LongRowLayout {
  std::int32_t n;
  int tasks;
  bool staged = true;  // every row is copied in or out
  bool per_edge = true;
};

/// The scratch memory of a row. Most rows touch only what comes from `working`.
template <class T>
struct LongRowScratch {
  LongRowScratch(Scratch& working, Scratch& spare, const LongRowLayout& layout) noexcept;

  static MemorySize size(const LongRowLayout& layout) noexcept;

  PieceScratch<T>* tasks = nullptr;
  Cut* cuts = nullptr;
  RowTile* tiles = nullptr;
  Code* codes = nullptr;
  T* x = nullptr;  // if the row is not contiguous in T, or has an offset; then y, if y is not
  T* edge_lam = nullptr;
  Knot* knots = nullptr;  // 2 per sample: a long piece uses those of its samples
};

/// Solves rows of a forward call, one after the other, each with all threads.
template <class T>
class LongRow {
 public:
  LongRow(const Forward1d& call, const CpuTarget& target, const LongRowScratch<T>& scratch) noexcept
      : call_(call), kernels_(target.kernels<T>()), s_(scratch), n_(call.rows.n) {}

  /// Solves a row and writes it, unless another solver must take it (path wide or unusual) or the
  /// call is interrupted.
  [[nodiscard]] RowPath solve(std::int64_t row, const Context& threads) noexcept;

 private:
  /// Calls use(first, last, scratch of the task) for chunks of `all` on all threads.
  template <class Use>
  void in_parallel(std::int64_t all, std::int64_t chunk, const Context& threads,
                   const Use& use) noexcept;

  void open(std::int64_t row, const Context& threads) noexcept;
  void stage(const RowSpan<const void>& row, const Context& threads) noexcept;
  [[nodiscard]] RowPath choose(std::int64_t row, const Context& threads) noexcept;
  [[nodiscard]] Extent<T> measure(std::int32_t first, std::int32_t behind) const noexcept;
  [[nodiscard]] Extent<T> measure_all(const Context& threads) noexcept;
  [[nodiscard]] LamExtent load_lam(std::int64_t row, T most) noexcept;
  void take_off(T offset, const Context& threads) noexcept;

  void find_cuts(const Context& threads) noexcept;
  [[nodiscard]] std::int32_t lay_tiles(int threads) noexcept;
  [[nodiscard]] std::int32_t pieces_a_tile(int threads) const noexcept;
  [[nodiscard]] static Code* codes_for(std::int32_t first, std::int32_t behind, Code* place,
                                       const PieceScratch<T>& task) noexcept;
  void solve_tile(RowTile& tile, bool searched, const PieceScratch<T>& task) noexcept;
  void find_jumps(RowTile& tile, Code* codes, const PieceScratch<T>& task) noexcept;
  void solve_pieces(const RowTile& tile, std::int32_t first, std::int32_t last, Code* codes,
                    const PieceScratch<T>& task) noexcept;
  void pull_string(HandedOver rest, Cut behind, Code* codes, Knot* own_knots) noexcept;

  void finish_tile(RowTile& tile, Code* codes, const PieceScratch<T>& task) noexcept;
  void keep_ends(const RowTile& tile, const Code* codes) noexcept;
  void finish_gaps(std::int32_t tiles, const Context& threads) noexcept;
  void finish_gap(std::int32_t start, std::int32_t behind, const PieceScratch<T>& task) noexcept;
  void finish(std::int32_t first, std::int32_t behind, Code* codes,
              const PieceScratch<T>& task) noexcept;
  [[nodiscard]] std::int32_t find_clear_jump(const Code* codes, std::int32_t from,
                                             std::int32_t to) const noexcept;
  [[nodiscard]] bool is_clear_jump(const Code* codes, std::int32_t sample) const noexcept;
  void pack(const Code* codes, std::int32_t first, std::int32_t behind) noexcept;
  void write(std::int64_t row, const Context& threads) noexcept;

  [[nodiscard]] bool per_edge() const noexcept { return is_per_edge(call_.lam); }
  [[nodiscard]] T dual_before(Cut cut) const noexcept {
    return cut.code == Code::plain ? T{0} : tube_.dual_before(cut.sample, cut.code);
  }
  [[nodiscard]] Code* codes_of(const RowTile& tile) const noexcept {
    return s_.codes + (&tile - s_.tiles) * kTileGap;
  }

  const Forward1d& call_;
  const VectorKernels<T>& kernels_;
  const LongRowScratch<T>& s_;
  std::int32_t n_;
  RowTube<T> tube_;  // of the row itself, or of s_.x
  CutPlan plan_;
  std::int32_t stretch_ = 0;  // in each of which one clear jump is searched
  T* y_ = nullptr;            // the row's own, or s_.x
  std::uint32_t* words_ = nullptr;
  T range_ = 0;   // of the samples that were measured first
  T offset_ = 0;  // what was subtracted from them
  bool straight_ = false;
  bool measured_ = false;  // else tiles measure their samples first
  std::atomic<bool> unusual_{false};
};

}  // namespace tautstring::detail
