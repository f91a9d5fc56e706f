// Sums that compilers can vectorize, in an order that is the same for all targets.
#pragma once

#include <cstdint>

#include "portability.h"

namespace tautstring::detail {

/// The sum of term(0) .. term(count - 1), in eight partial sums.
template <class Term>
TAUTSTRING_FORCE_INLINE double sum_in_lanes(std::int64_t count, const Term& term) noexcept {
  constexpr std::int64_t kLanes = 8;
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) lanes[lane] += term(i);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

}  // namespace tautstring::detail
