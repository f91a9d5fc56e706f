// Solves many rows at once: they are staged side by side in one tile of memory, searched for jumps
// with one lane per row, finished and written.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cpu/bounded_lam.h"
#include "cpu/row_mover.h"
#include "cpu/row_path.h"
#include "cpu/row_places.h"
#include "cpu/row_split.h"
#include "cpu/targets.h"
#include "step/fast_taut_string.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// How many rows are in a tile, and where; what else there must be memory for.
struct TileLayout {
  TileLayout(const Rows& batch, int tasks) noexcept;

  std::int32_t rows;      // at most
  std::int32_t n;         // of a row
  std::int64_t pitch;     // from row to row
  std::int32_t together;  // rows that are finished together
  bool per_edge = true;
  bool narrow = true;  // samples of 16 bits
};

/// The tile's arrays, for arithmetic in T.
template <class T>
struct TileScratch {
  TileScratch(Scratch scratch, const TileLayout& layout) noexcept;

  static std::size_t bytes(const TileLayout& layout) noexcept;

  T* x = nullptr;  // then y
  T* edge_lam = nullptr;
  std::uint16_t* narrow = nullptr;  // see RowMover
  Code* codes = nullptr;

  std::int32_t* first = nullptr;  // these by job
  std::int32_t* last = nullptr;
  T* lam = nullptr;
  HandedOver* handed_over = nullptr;

  std::int64_t* row = nullptr;  // these by row in the tile: its index in the batch
  Extent<T>* extent = nullptr;
  RowPath* path = nullptr;
  T* offset = nullptr;
  T* row_lam = nullptr;

  Knot* knots = nullptr;
  RowSplitScratch<T> split;
  SegmentList<T> segments;

 private:
  TileScratch() = default;
  void cut(Scratch& scratch, const TileLayout& layout) noexcept;
};

/// Rows of a batch that are left to other solvers.
struct LeftRows {
  std::int64_t* rows = nullptr;
  std::int32_t count = 0;

  void add(std::int64_t row) noexcept { rows[count++] = row; }
};

/// Solves rows of a forward call in T's arithmetic.
template <class T>
class RowBatch {
 public:
  RowBatch(const Forward1d& call, const CpuTarget& target, const TileLayout& layout,
           const TileScratch<T>& tile) noexcept;

  /// Solves at most one tile of rows, starting with `first`; rows that need wider arithmetic or the
  /// careful solver are added to the lists instead.
  void solve(std::int64_t first, std::int32_t count, LeftRows& wide, LeftRows& unusual) noexcept;

  /// Solves the listed rows, at most a tile of them; none needs wider arithmetic.
  void solve(const LeftRows& rows, LeftRows& unusual) noexcept;

 private:
  void load_all() noexcept;
  void load(std::int32_t slot, std::int32_t rows) noexcept;
  void solve_loaded(LeftRows& wide, LeftRows& unusual) noexcept;
  [[nodiscard]] RowPath classify(std::int32_t slot) noexcept;
  [[nodiscard]] LamExtent load_lam(std::int32_t slot, T most) noexcept;
  void find_jumps() noexcept;
  void pull_string(HandedOver rest) noexcept;
  [[nodiscard]] bool are_consecutive() const noexcept;
  [[nodiscard]] bool can_finish_straight(std::int32_t together) const noexcept;
  void finish(std::int32_t slot, std::int32_t rows, bool straight) noexcept;
  void write_all() noexcept;
  void pack_all() noexcept;

  [[nodiscard]] bool split(std::int32_t slot) const noexcept;
  [[nodiscard]] bool per_edge() const noexcept { return is_per_edge(call_.lam); }
  [[nodiscard]] bool is_solved(std::int32_t slot) const noexcept {
    return t_.path[slot] == RowPath::lanes || t_.path[slot] == RowPath::flat;
  }

  const Forward1d& call_;
  const VectorKernels<T>& kernels_;
  const TileLayout& layout_;
  const TileScratch<T>& t_;
  SegmentList<T> segments_;
  RowMover<T> mover_;
  RowOrder order_;
  RowPlaces<const void> x_;
  RowPlaces<void> y_;
  T number_lam_;
  std::int32_t used_ = 0;  // rows in the tile
  bool all_solved_ = false;
};

}  // namespace tautstring::detail
