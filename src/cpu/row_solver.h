// Solves one row in float64, contiguous. Knows no dtypes, strides or threads.
#pragma once

#include <cstdint>

#include "cpu/scratch.h"
#include "tautline/tv1d.h"

namespace tautline::detail {

/// What a row is, beside the values in scratch.x and, where they apply,
/// scratch.weight and scratch.lam.
struct RowProblem {
  std::int32_t n = 0;
  bool weighted = false;
  bool per_edge = false;  // lam is in scratch.lam
  double lam = 0;         // else it is this
  Mode mode = Mode::smooth;
};

class RowSolver {
 public:
  explicit RowSolver(const RowScratch& scratch) noexcept : s_(scratch) {}

  /// Leaves the result in scratch.y and scratch.codes; destroys the inputs.
  void solve(const RowProblem& row) noexcept;

  /// Elements read, and points pushed on and popped off the string's chains,
  /// since this solver was made: the measure of work that is proven linear.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }

 private:
  template <class Lams>
  void solve_scaled(const Lams& lams, bool weighted, std::int32_t count) noexcept;
  std::int32_t drop_missing(const RowProblem& row) noexcept;
  void restore_missing(const RowProblem& row, std::int32_t present) noexcept;
  void fill_nan(std::int32_t n) noexcept;

  const RowScratch& s_;
  std::int64_t steps_ = 0;
};

}  // namespace tautline::detail
