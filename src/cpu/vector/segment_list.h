// The segments of a stretch of a row, in order. The vector code makes this list from codes and
// samples, and values from the list.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

/// The first sample of a segment, with its code in the bits above.
using SegmentStart = std::uint32_t;

inline constexpr int kStartCodeShift = 30;

[[nodiscard]] constexpr SegmentStart segment_start(std::int32_t sample, Code code) noexcept {
  return static_cast<std::uint32_t>(sample) | static_cast<std::uint32_t>(code) << kStartCodeShift;
}
[[nodiscard]] constexpr std::int32_t start_sample(SegmentStart start) noexcept {
  return static_cast<std::int32_t>(start & ((1U << kStartCodeShift) - 1));
}
[[nodiscard]] constexpr Code start_code(SegmentStart start) noexcept {
  return static_cast<Code>(start >> kStartCodeShift);
}

/// Scratch memory for as many segments as a stretch can have; arrays have kSegmentSlack more
/// entries.
template <class T>
struct SegmentList {
  std::int32_t count = 0;
  SegmentStart* starts = nullptr;  // [count]: one past the last sample
  T* values = nullptr;             // sums, then values; one entry before it is readable
  T* lam = nullptr;                // if lam is one per edge: after each segment; likewise
};

inline constexpr std::int32_t kSegmentSlack = 64;

/// Joins segments across spurious jumps, which are due to rounding: those that do not go in the
/// direction of their code. Turns the sums in list.values into values.
template <class T>
void join_segments(SegmentList<T>& list, Code* codes) noexcept {
  const auto value = [&](std::int32_t s) {
    const std::int32_t length = start_sample(list.starts[s + 1]) - start_sample(list.starts[s]);
    return list.values[s] / static_cast<T>(length);
  };
  std::int32_t last = 0;  // the current segment; those before it are final
  for (std::int32_t s = 1; s < list.count; ++s) {
    ++last;
    list.starts[last] = list.starts[s];
    list.values[last] = list.values[s];
    const SegmentStart behind = list.starts[s + 1];
    list.starts[last + 1] = behind;
    for (; last > 0; --last) {
      const SegmentStart start = list.starts[last];
      const auto sign = static_cast<T>(jump_sign(start_code(start)));
      if (sign == 0 || (value(last) - value(last - 1)) * sign > 0) break;
      list.values[last - 1] += list.values[last];
      list.starts[last] = behind;
      codes[start_sample(start)] = Code::continues;
    }
  }
  list.count = last + 1;
  for (std::int32_t s = 0; s < list.count; ++s) list.values[s] = value(s);
}

}  // namespace tautstring::detail
