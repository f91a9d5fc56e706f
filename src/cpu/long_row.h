// One long row: cut into pieces that are solved side by side in vector lanes and
// by threads.
//
// Behind a jump the direct method starts anew: all that it knows is the sample
// and the sign. So two searches that start at one sample with the dual variable at
// its two ends, and find a jump at the same place with the same sign, have become
// one; and as the true dual variable lies between those ends, the true search
// finds that jump too. Such places cut the row into pieces. Where the two do not
// meet soon there is no cut; a row without any is solved in one piece.
//
// Where the cuts are depends on the row alone, not on threads or lanes.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cpu/bounded_lam.h"
#include "cpu/row_path.h"
#include "cpu/scratch.h"
#include "cpu/targets.h"
#include "step/fast_taut_string.h"

namespace tautline::detail {

/// Rows longer than this have pieces enough to fill the lanes.
inline constexpr std::int32_t kLongRow = 65535;

/// A place to cut a row: the first sample behind a jump of `code`; `continues`
/// while none has been found from `sample` on.
struct Cut {
  std::int32_t sample;
  Code code;
};

/// What a task needs for itself.
template <class T>
struct PieceScratch {
  std::int32_t* first = nullptr;  // by job
  std::int32_t* last = nullptr;
  T* lam = nullptr;
  T* u_start = nullptr;
  T* u_end = nullptr;
  HandedOver* handed_over = nullptr;
  SegmentList<T> segments;
};

template <class T>
struct LongRowScratch {
  LongRowScratch(Scratch scratch, std::int32_t n, int task_count) noexcept;

  static std::size_t bytes(std::int32_t n, int task_count) noexcept;

  T* x = nullptr;  // where the row is not plain; and then y, where that is not
  T* edge_lam = nullptr;
  Code* codes = nullptr;
  Knot* knots = nullptr;        // 2 a sample: a piece uses those of its samples
  Code* other_codes = nullptr;  // in the place of the knots: those of the first search
  Cut* cuts = nullptr;
  std::int32_t* stretches = nullptr;
  PieceScratch<T>* tasks = nullptr;

 private:
  LongRowScratch() = default;
  void cut(Scratch& scratch, std::int32_t n, int task_count) noexcept;
};

/// Solves rows of a forward call, one after the other, each with all threads.
template <class T>
class LongRow {
 public:
  LongRow(const Forward1d& call, const CpuTarget& target, const LongRowScratch<T>& scratch) noexcept
      : call_(call), kernels_(target.kernels<T>()), s_(scratch), n_(call.rows.n) {}

  /// Solves a row and writes it out, unless its path is for others (wide, unusual).
  [[nodiscard]] RowPath solve(std::int64_t row, const Context& threads) noexcept;

 private:
  /// Calls use(first, last, task's scratch) for chunks of `all` on all threads.
  template <class Use>
  void in_parallel(std::int64_t all, std::int64_t chunk, const Context& threads,
                   const Use& use) noexcept;

  [[nodiscard]] Extent<T> measure(const Context& threads) noexcept;
  void stage(const RowSpan<const void>& row, const Context& threads) noexcept;
  void take_off(T offset, const Context& threads) noexcept;
  [[nodiscard]] LamExtent load_lam(std::int64_t row, T most) noexcept;

  void find_jumps(const Context& threads) noexcept;
  [[nodiscard]] std::int32_t coupling_length() noexcept;
  [[nodiscard]] std::int32_t find_cuts(std::int32_t coupling, const Context& threads) noexcept;
  void look_for_cuts(Cut* cuts, std::int32_t count, std::int32_t length, Code* other_codes,
                     const PieceScratch<T>& task) noexcept;
  void solve_pieces(std::int32_t first, std::int32_t last, std::int32_t cuts, bool alone,
                    const PieceScratch<T>& task) noexcept;
  void pull_string(HandedOver rest, std::int32_t behind, T u_end) noexcept;

  void finish(std::int64_t row, T offset, const Context& threads) noexcept;
  [[nodiscard]] std::int32_t find_clear_jump(std::int32_t from, std::int32_t to) const noexcept;
  [[nodiscard]] bool is_clear_jump(std::int32_t sample) const noexcept;
  void write(std::int64_t row, const Context& threads) noexcept;

  [[nodiscard]] bool per_edge() const noexcept { return is_per_edge(call_.lam); }
  [[nodiscard]] T lam_behind(std::int32_t sample) const noexcept {
    return per_edge() ? s_.edge_lam[sample] : lam_;
  }
  /// The dual variable between a sample and the one before it, where a jump is.
  [[nodiscard]] T dual_before(std::int32_t sample, Code code) const noexcept {
    return static_cast<T>(-jump_sign(code)) * lam_behind(sample - 1);
  }

  const Forward1d& call_;
  const VectorKernels<T>& kernels_;
  const LongRowScratch<T>& s_;
  std::int32_t n_;
  const T* x_ = nullptr;  // the row itself, or s_.x
  T lam_ = 0;
  T range_ = 0;
};

}  // namespace tautline::detail
