// State of a batch of images between launches.
#pragma once

#include <cstdint>

#include "step/image/gap.h"

namespace tautstring::detail {

/// What is known about an image before its first pass.
struct ImageFacts {
  double offset;    // subtracted from the samples; NaN if refused, so that they become NaN
  double largest;   // the largest |x - offset|
  double scale;     // see gap_scale
  bool is_copied;   // all lams are 0
  bool is_refused;  // a sample that is not finite, or an invalid lam
  bool has_start;
};

/// The progress of an image that may stop before others.
struct ImageProgress {
  double t[2];        // of the momentum, alternating
  std::int32_t done;  // iterations
  bool is_stopped;
  bool is_polished;
  Quality quality;  // of the image that would be returned, times the square of the scale
};

template <class T>
struct ImageArrays {
  const T* x;    // less its offset
  T* row_input;  // X - Qb; may share y's memory when y is no longer needed
  T* input;      // of the columns, X - P
  T* y;          // the result of the pass over columns
  T* q;          // of the previous iteration; null if there is no momentum
  T* q_ahead;    // Qb

  [[nodiscard]] __device__ T new_q(std::int64_t i) const noexcept { return input[i] - y[i]; }
};

}  // namespace tautstring::detail
