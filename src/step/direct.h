// The direct method: finds the jumps of a row while reading it from left to right, with a state of
// a handful of numbers. Shared by host and device; cpu/vector does the same on many rows at once.
// All compute the same, operation by operation, so that they find the same jumps.
//
// The value of a segment is only known to be between v_min and v_max. u_min is the dual variable
// that v_min would lead to at the current sample, u_max that of v_max. v_min rises to keep u_min
// from rising above lam, and v_max falls to keep u_max from falling below -lam; the sample where
// this last happened is stored. When u_min still falls below -lam, no value works up to here: the
// segment ended where v_min was last raised, with that value, and the string jumps down; likewise
// up (Condat, IEEE Signal Process. Lett. 20, 2013).
//
// After each jump the method goes back to the end of the segment, which makes it fast on noise and
// quadratic on a ramp. Hence the credit: a job may read some samples again (first_credit), plus
// 2^kCreditShift for each sample of a finished segment. A job that has used this up is handed over
// to the taut string at a jump; as the state after a jump is that of a new start, nothing is lost.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

/// How a stretch of samples ends.
enum class JobEnd : std::uint8_t {
  row,    // at the end of the row: no dual variable after its last sample
  piece,  // within a row, with a known dual variable after it
  open,   // anywhere: only the jumps before it matter
};

inline constexpr int kCreditShift = 2;

/// The credit that a row of n samples starts with: enough for long segments at its beginning. Parts
/// of a row start with one for each sample.
inline constexpr int kFirstCreditShift = 3;
inline constexpr std::int32_t kFirstCredit = 512;
[[nodiscard]] constexpr std::int32_t first_credit(std::int32_t n) noexcept {
  const std::int32_t part = n >> kFirstCreditShift;
  return n < kFirstCredit ? n : part < kFirstCredit ? kFirstCredit : part;
}

/// Samples first .. last of x.
template <class T>
struct DirectJob {
  const T* x;
  const T* edge_lam;  // by sample: lam of the edge after it, 0 after the row; null: `lam`
  std::int32_t first;
  std::int32_t last;
  T lam;
  T u_start;  // the dual variable before it
  T u_end;    // after it (JobEnd::piece)
};

/// A job that used up its credit: the rest of it starts at `sample`, after a jump.
struct HandedOver {
  std::int32_t sample;
  Code code;
};

inline constexpr HandedOver kFinished = {-1, Code::continues};

/// Writes a code at every sample after a jump; returns where it gave up, or kFinished.
template <JobEnd kEnd, class T>
constexpr HandedOver find_jumps_directly(const DirectJob<T>& job, Code* codes) noexcept {
  const std::int32_t n = job.last - job.first + 1;
  std::int32_t credit = kEnd == JobEnd::row ? first_credit(n) : n;
  std::int32_t first = job.first;  // of the segment
  T u_start = job.u_start;
  T high = 0;
  T low = 0;
  const auto set_bounds = [&](std::int32_t k) {
    high = job.edge_lam != nullptr ? job.edge_lam[k] : job.lam;
    low = -high;
    if (k != job.last || kEnd == JobEnd::open) return;
    if (kEnd == JobEnd::piece) high = low = job.u_end;
    if (kEnd == JobEnd::row) high = low = 0;
  };
  for (;;) {
    set_bounds(first);
    T v_min = job.x[first] + (u_start - high);
    T v_max = job.x[first] + (u_start - low);
    T u_min = high;
    T u_max = low;
    T lam_min = high;
    T lam_max = high;
    std::int32_t k_min = first;
    std::int32_t k_max = first;
    Code jump = Code::continues;
    std::int32_t k = first;
    while (k != job.last) {
      ++k;
      set_bounds(k);
      const T a = u_min + (job.x[k] - v_min);
      const T b = u_max + (job.x[k] - v_max);
      if (a < low) {
        jump = Code::down;
        break;
      }
      if (b > high) {
        jump = Code::up;
        break;
      }
      u_min = a;
      u_max = b;
      if (a >= high || b <= low) {
        const T share = T(1) / static_cast<T>(k - first + 1);
        if (a >= high) {
          v_min += (a - high) * share;
          u_min = high;
          k_min = k;
          lam_min = high;
        }
        if (b <= low) {
          v_max += (b - low) * share;
          u_max = low;
          k_max = k;
          lam_max = high;
        }
      }
    }
    if (jump == Code::continues) return kFinished;
    const std::int32_t segment_last = jump == Code::up ? k_max : k_min;
    u_start = jump == Code::up ? -lam_max : lam_min;
    credit += (segment_last + 1 - first) * (1 << kCreditShift) - (k - segment_last);
    first = segment_last + 1;
    if (credit < 0) return {first, jump};
    codes[first] = jump;
  }
}

}  // namespace tautstring::detail
