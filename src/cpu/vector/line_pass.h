// Passes over the lines of an image, its rows or its columns: of the solver, and of its derivative.
#pragma once

#include <cstdint>

#include "step/line_repair.h"

namespace tautstring::detail {

/// Where the lines are: sample k of line l is at element l * line_step + k * sample_step of an
/// array. One of the two steps is 1.
struct LineShape {
  std::int32_t n = 0;  // samples per line
  std::int32_t lines = 0;
  std::int64_t line_step = 0;
  std::int64_t sample_step = 0;
};

/// The partitions of lines (see RepairedLine). Lines are in groups of as many as there are lanes;
/// words are in the order [group][word of the line][lane].
struct LinePartitions {
  std::uint32_t* starts = nullptr;
  std::uint32_t* ups = nullptr;
};

/// The exact solution of each line, found by repairing the partition that it had in the pass
/// before.
template <class T>
struct LinePass {
  LineShape shape;
  const T* lams = nullptr;  // by line, above 0; for all lanes of the last group
  const T* in = nullptr;
  const T* added = nullptr;  // to the solution; null: nothing
  T* out = nullptr;          // may be `in`
  // If given, `in` is A and the solution is Y: instead of Y, the next input of the rows is written
  // to `out`, which is x - (A - Y), and A - Y to `next_q`.
  const T* x = nullptr;
  T* next_q = nullptr;
  LinePartitions partitions;
  bool is_first = false;              // there are no partitions to start from
  std::uint32_t* codes = nullptr;     // see tautstring/partition.h; null: not wanted
  T* tile = nullptr;                  // scratch: 2 * n elements per lane, aligned
  std::uint32_t* unsolved = nullptr;  // by group: bits of the lanes that repairs did not solve
};

/// What a pass writes for one sample.
template <class T>
constexpr void store_solution(const LinePass<T>& pass, std::int64_t at, T solution) noexcept {
  if (pass.x != nullptr) {
    pass.next_q[at] = pass.in[at] - solution;
    pass.out[at] = pass.x[at] - pass.next_q[at];
  } else {
    pass.out[at] = pass.added == nullptr ? solution : solution + pass.added[at];
  }
}

/// The derivative of a pass: with S the mean over the segments of each line, S in or in - S in.
template <class T>
struct LineAverages {
  LineShape shape;
  const std::uint32_t* codes = nullptr;
  const T* in = nullptr;
  T* out = nullptr;  // may be `in`
  // If given, `out` is in - S in, and that times `sign` is added to these; else `out` is S in.
  T* sum = nullptr;
  T sign = 1;
  // The gradients of lam, one per line or one per edge, to which that of this pass times `lam_sign`
  // is added; null: not wanted.
  double* lam = nullptr;
  T* edge_lam = nullptr;
  LineShape edges;  // where they are
  T lam_sign = 1;
  T* tile = nullptr;  // scratch: 2 * n + 4 * line_words(n) elements per lane, aligned
};

/// What it writes for one sample.
template <class T>
constexpr void store_average(const LineAverages<T>& pass, std::int64_t at, T mean) noexcept {
  if (pass.sum == nullptr) {
    pass.out[at] = mean;
  } else {
    pass.out[at] = pass.in[at] - mean;
    pass.sum[at] += pass.sign * pass.out[at];
  }
}

}  // namespace tautstring::detail
