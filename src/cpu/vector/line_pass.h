// A pass over the lines of images: the exact solution of each line, found by repairing the
// partition that the line had in the pass before.
//
// One image after the other lies in memory, row by row, so that a pass takes rows and columns
// alike.
#pragma once

#include <cstdint>

#include "step/line_repair.h"

namespace tautstring::detail {

/// The partitions of lines (see RepairedLine). Lines are in groups of as many as there are lanes;
/// words are in the order [group][word of the line][lane].
struct LinePartitions {
  std::uint32_t* starts = nullptr;
  std::uint32_t* ups = nullptr;
};

/// Sample k of line l of image i is at element i * image_step + l * line_step + k * sample_step.
template <class T>
struct LinePass {
  std::int32_t n = 0;      // samples per line
  std::int32_t lines = 0;  // per image
  std::int32_t images = 0;
  std::int64_t image_step = 0;
  std::int64_t line_step = 0;
  std::int64_t sample_step = 0;  // this or line_step is 1
  const T* in = nullptr;
  const T* added = nullptr;  // to the solution; null: nothing
  T* out = nullptr;          // may be `in`
  // If given, `in` is A and the solution is Y: instead of Y, the next input of the rows is written
  // to `out`, which is x - (A - Y), and A - Y to `next_q`.
  const T* x = nullptr;
  T* next_q = nullptr;
  const T* lam = nullptr;  // one per image, above 0
  LinePartitions partitions;
  bool is_first = false;              // there are no partitions to start from
  std::uint32_t* codes = nullptr;     // see tautstring/partition.h; null: not wanted
  T* tile = nullptr;                  // scratch: 2 * n elements per lane, aligned
  std::uint32_t* unsolved = nullptr;  // by group: bits of the lanes that repairs did not solve
};

/// What a pass writes for one sample.
template <class T>
constexpr void store_solution(const LinePass<T>& pass, std::int64_t at, T in, T solution) noexcept {
  if (pass.x != nullptr) {
    pass.next_q[at] = in - solution;
    pass.out[at] = pass.x[at] - pass.next_q[at];
  } else {
    pass.out[at] = pass.added == nullptr ? solution : solution + pass.added[at];
  }
}

}  // namespace tautstring::detail
