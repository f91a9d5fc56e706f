// Walks over the segments of a row, from its codes.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

struct SegmentSpan {
  std::int32_t first;
  std::int32_t last;  // one past the last sample
  int left_sign;      // of the jumps at its borders, 0 at the ends of the row
  int right_sign;
};

/// `codes` is any object for which codes[i] is code i.
template <class Codes, class Use>
constexpr void for_each_segment(const Codes& codes, std::int32_t n, Use&& use) {
  int left_sign = 0;
  for (std::int32_t first = 0, last = 0; first < n; first = last) {
    last = first + 1;
    while (last < n && codes[last] == Code::continues) ++last;
    const int right_sign = last < n ? jump_sign(codes[last]) : 0;
    use(SegmentSpan{first, last, left_sign, right_sign});
    left_sign = right_sign;
  }
}

}  // namespace tautstring::detail
