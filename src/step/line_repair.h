// The exact solution of a line by repairing a partition, one line at a time. Shared by host and
// device; cpu/vector/line_repair-inl.h does the same on one line per lane, operation by operation,
// so that all find the same bits.
//
// The solution of a line follows from its partition: the mean of each segment, shifted by the jumps
// at its borders. It is optimal if the dual variable, the running sum of solution minus samples,
// stays within lam inside of segments, and if all jumps go in their direction. Where it does not,
// the segment is split at the largest excess; a jump in the wrong direction is removed. Both are
// repeated until nothing is left to repair: a round is two sweeps without a search. From the
// partition of a similar line this takes one to three rounds, from none some more.
#pragma once

#include <cstdint>
#include <limits>

#include "step/host_device.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// A line that is not solved after so many rounds is left to another solver. From round
/// kRoundsBeforeSlack on, the slack doubles in each: rounding must not undo each repair in the next
/// round, forever.
inline constexpr int kRepairRounds = 12;
inline constexpr int kRoundsBeforeSlack = 8;

/// A jump is guessed where samples differ by more than this many lams; by more than 2, there is
/// one.
inline constexpr double kGuessedJump = 1.5;

/// Samples per word of the partitions that are repaired.
inline constexpr std::int32_t kSamplesPerWord = 32;

[[nodiscard]] constexpr std::int32_t line_words(std::int32_t n) noexcept {
  return (n + kSamplesPerWord - 1) / kSamplesPerWord;
}

/// A line with lam above 0, its solution and its partition: two bits per sample say whether it
/// starts a segment, and if so, whether after a jump up. The first sample starts one.
template <class T>
struct RepairedLine {
  std::int32_t n = 0;
  const T* x = nullptr;
  T* y = nullptr;
  T lam = 0;
  std::uint32_t* starts = nullptr;
  std::uint32_t* ups = nullptr;

  [[nodiscard]] constexpr T sample(std::int32_t k) const noexcept { return x[k]; }
  [[nodiscard]] constexpr T& value(std::int32_t k) const noexcept { return y[k]; }
  [[nodiscard]] static constexpr std::uint32_t bit(std::int32_t k) noexcept {
    return std::uint32_t{1} << (k % kSamplesPerWord);
  }
  [[nodiscard]] constexpr std::int32_t word(std::int32_t k) const noexcept {
    return k / kSamplesPerWord;
  }
  [[nodiscard]] constexpr bool starts_at(std::int32_t k) const noexcept {
    return (starts[word(k)] & bit(k)) != 0;
  }
  /// The dual variable before a sample that starts a segment.
  [[nodiscard]] constexpr T dual_before(std::int32_t k) const noexcept {
    if (k == 0 || k == n) return 0;
    return (ups[word(k)] & bit(k)) != 0 ? lam : -lam;
  }
  constexpr void split(std::int32_t k, bool up) const noexcept {
    starts[word(k)] |= bit(k);
    ups[word(k)] = (ups[word(k)] & ~bit(k)) | (up ? bit(k) : 0);
  }
  constexpr void join(std::int32_t k) const noexcept { starts[word(k)] &= ~bit(k); }
};

/// The partition to start from without one.
template <class T>
constexpr void guess_partition(const RepairedLine<T>& line) noexcept {
  for (std::int32_t k = 0; k < line.n; k += kSamplesPerWord) {
    line.starts[line.word(k)] = line.ups[line.word(k)] = 0;
  }
  line.starts[0] = 1;
  const T large = line.lam * static_cast<T>(kGuessedJump);
  for (std::int32_t k = 1; k < line.n; ++k) {
    const T rise = line.sample(k) - line.sample(k - 1);
    if (rise > large || -rise > large) line.split(k, rise > 0);
  }
}

/// Stores the value of each segment at its last sample.
template <class T>
constexpr void take_means(const RepairedLine<T>& line) noexcept {
  T first = 0;  // sample of the segment: sums of differences from it are accurate
  T left = 0;   // the dual variable before the segment
  T sum = 0;
  T length = 0;
  for (std::int32_t k = 0; k < line.n; ++k) {
    if (line.starts_at(k)) {
      first = line.sample(k);
      left = line.dual_before(k);
      sum = length = 0;
    }
    sum += line.sample(k) - first;
    length += 1;
    if (k + 1 < line.n && !line.starts_at(k + 1)) continue;
    line.value(k) = first + (sum + (line.dual_before(k + 1) - left)) / length;
  }
}

/// Spreads the values over their segments, checks them and repairs the partition; returns whether
/// there was nothing to repair. `most` is the largest dual variable that is allowed.
template <class T>
constexpr bool check_partition(const RepairedLine<T>& line, T most) noexcept {
  bool is_optimal = true;
  bool is_end = true;
  T value = 0;
  T dual = 0;
  T behind = 0;            // the dual variable after the segment before
  T largest = most;        // dual variable in the segment, so far
  std::int32_t split = 0;  // where it is; 0: nowhere
  bool is_above = false;
  for (std::int32_t k = line.n - 1; k >= 0; --k) {
    if (is_end) {
      value = line.value(k);
      dual = behind;
    }
    line.value(k) = value;
    dual -= value - line.sample(k);
    is_end = line.starts_at(k);
    if (!is_end) {
      const T size = dual < 0 ? -dual : dual;
      if (size > largest) {
        largest = size;
        is_above = dual > 0;
        split = k;
      }
      continue;
    }
    behind = line.dual_before(k);
    const T before = k > 0 ? line.value(k - 1) : value;
    const bool is_right = k == 0 || (behind > 0 ? value > before : value < before);
    is_optimal = is_optimal && split == 0 && is_right;
    if (!is_right) line.join(k);
    if (split != 0) line.split(split, is_above);
    split = 0;
    largest = most;
  }
  return is_optimal;
}

/// How far above lam rounding may take a dual variable.
template <class T>
[[nodiscard]] constexpr T dual_slack(T lam, T largest_sample) noexcept {
  return 2 * std::numeric_limits<T>::epsilon() * (lam + largest_sample);
}

/// Solves a line from its partition; returns whether that succeeded.
template <class T>
constexpr bool repair(const RepairedLine<T>& line) noexcept {
  T largest = 0;
  for (std::int32_t k = 0; k < line.n; ++k) {
    const T size = line.sample(k) < 0 ? -line.sample(k) : line.sample(k);
    if (size > largest) largest = size;
  }
  T slack = dual_slack(line.lam, largest);
  for (int round = 0; round < kRepairRounds; ++round) {
    take_means(line);
    if (round >= kRoundsBeforeSlack) slack += slack;
    if (check_partition(line, line.lam + slack)) return true;
  }
  return false;
}

/// The lowest 16 bits, each at twice its place.
[[nodiscard]] constexpr std::uint32_t spread_bits(std::uint32_t bits) noexcept {
  bits &= 0xFFFF;
  bits = (bits | bits << 8) & 0x00FF00FF;
  bits = (bits | bits << 4) & 0x0F0F0F0F;
  bits = (bits | bits << 2) & 0x33333333;
  return (bits | bits << 1) & 0x55555555;
}

/// The inverse: every other bit, from the lowest on.
[[nodiscard]] constexpr std::uint32_t gather_bits(std::uint32_t bits) noexcept {
  bits &= 0x55555555;
  bits = (bits | bits >> 1) & 0x33333333;
  bits = (bits | bits >> 2) & 0x0F0F0F0F;
  bits = (bits | bits >> 4) & 0x00FF00FF;
  return (bits | bits >> 8) & 0x0000FFFF;
}

/// Writes the codes of a repaired line.
constexpr void store_codes(std::int32_t n, const std::uint32_t* starts, const std::uint32_t* ups,
                           std::uint32_t* codes) noexcept {
  for (std::int32_t word = 0; word < partition_words(n); ++word) {
    const int shift = word % 2 * kCodesPerWord;
    const std::uint32_t start = starts[word / 2] >> shift;
    const std::uint32_t up = ups[word / 2] >> shift;
    codes[word] = spread_bits(start & up) | spread_bits(start & ~up) << 1;
  }
  codes[0] |= static_cast<std::uint32_t>(Code::plain);
}

}  // namespace tautstring::detail
