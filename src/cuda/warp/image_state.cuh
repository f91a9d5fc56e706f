// What is kept of a batch of images between launches.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// What is known of an image before its first pass.
struct ImageFacts {
  double offset;    // what its samples are counted from; NaN, so that all is, where it is refused
  double largest;   // |x|, counted so
  double scale;     // see gap_scale
  bool is_copied;   // no lam but 0
  bool is_refused;  // a sample that is not finite, or a lam that is none
  bool has_start;
};

/// An image's progress where it may stop before others.
struct ImageProgress {
  double t[2];        // of the momentum, by turns
  std::int32_t done;  // iterations
  bool is_stopped;
  bool is_polished;
  double gap;  // of what would be returned, times the square of the scale
};

template <class T>
struct ImageArrays {
  const T* x;    // less its offset
  T* row_input;  // X - Qb; may be y's memory, where that is not needed any more
  T* input;      // of the columns, X - P
  T* y;          // what the pass over the columns gives
  T* q;          // of the iteration before; null where there is no momentum
  T* q_ahead;    // Qb

  [[nodiscard]] __device__ T new_q(std::int64_t i) const noexcept { return input[i] - y[i]; }
};

}  // namespace tautstring::detail
