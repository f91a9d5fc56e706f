// The solution by levels: every segment known so far is split where the solution crosses a
// threshold, until none is split. For many lanes that share a row: a level is two walks along the
// samples of a lane, whatever the row, while a search reads smooth rows again and again. Shared by
// host and device; knows a row only through its interface.
//
// A segment is between borders of the solution, so the dual variable is known at both ends. Its
// threshold is the value that it would have if it were one segment of the solution: the mean. Along
// it
//   message += sample - threshold, kept within [-lam, lam] at each edge,
// is what the samples so far require of those that follow. Where it is clamped at an edge, the
// samples before that are on one side of the threshold whatever follows: above it if the message
// was too large. For the last samples, the end decides. So the solution crosses the threshold at
// the last clamping before one to the other side. If there is no such place, the segment is one of
// the solution.
//
// The effect of an edge, or of a stretch of edges, on a message is a shift and a clamp, and so is
// their composition: lanes exchange the effect of their samples on any message. They also exchange
// the sums of segments that they share. The sums of segments within a lane are computed by the lane
// itself, one segment ahead of the one that it splits, so that a level needs no memory except for
// the codes.
//
// Messages and thresholds are multiplied by the length of the segment, so that small integers stay
// exact. If a row rises evenly, each level halves its segments; in the worst case a row needs as
// many levels as its type has powers of two.
#pragma once

#include <cstdint>
#include <limits>

#include "tautstring/partition.h"

namespace tautstring::detail {

/// message -> clamp(message + shift, low, high).
struct ClampedShift {
  double shift = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  [[nodiscard]] static constexpr ClampedShift always(double message) noexcept {
    return {0, message, message};
  }
  [[nodiscard]] constexpr double clamp(double message) const noexcept {
    return message < low ? low : (message > high ? high : message);
  }
  /// This one, then `next`.
  [[nodiscard]] constexpr ClampedShift then(const ClampedShift& next) const noexcept {
    return {shift + next.shift, next.clamp(low + next.shift), next.clamp(high + next.shift)};
  }
};

/// The side of a threshold; `even` is neither.
enum class Side : std::uint8_t { unknown, above, below, even };

/// The parts of a lane's samples whose side the walk cannot determine.
struct OpenEnds {
  Side head = Side::unknown;  // of the samples before its first border
  Side tail = Side::unknown;  // of those up to tail_last, which is not the last of its segment
  std::int32_t tail_last = 0;
  bool any_cut = false;
};

/// A segment that lanes share.
struct SharedSegment {
  std::int32_t first;
  std::int32_t last;
  double sum;
};

/// A lane's samples first .. last - 1 of a row, which has
///   sample(i), lam(e),
///   code(i): of the border before sample i; continues if there is none,
///   cut(i, down): sets a border before sample i.
template <class Row>
class SplitLane {
 public:
  /// `head` has the samples before the lane's first border and `tail` those from its last one on;
  /// both are the same if it has none.
  constexpr SplitLane(Row& row, std::int32_t first, std::int32_t last, std::int32_t n,
                      const SharedSegment& head, const SharedSegment& tail) noexcept
      : row_(row), first_(first), last_(last), n_(n), head_(head), tail_(tail) {}

  /// The effect of the lane on a message.
  [[nodiscard]] constexpr ClampedShift carry() const noexcept {
    const Segment segment = look_at(tail_);
    ClampedShift result;
    if (tail_.first >= first_) result = ClampedShift::always(segment.length * segment.u_first);
    for (std::int32_t i = tail_.first < first_ ? first_ : tail_.first; i < last_; ++i) {
      const double bound = segment.length * row_.lam(i);
      result = result.then({segment.asks(row_.sample(i)), -bound, bound});
    }
    return result;
  }

  /// Sets borders where the solution crosses the thresholds. `message` is the one before the lane's
  /// first sample.
  [[nodiscard]] constexpr OpenEnds walk(double message) const noexcept {
    OpenEnds ends;
    std::int32_t i = first_;
    // The segment ahead: its samples before `ahead` have been summed; all of them once it is known.
    std::int32_t ahead = head_.first < first_ ? head_.last : first_;
    double sum_ahead = 0;
    bool ahead_known = false;
    Segment segment = look_at(head_);
    bool in_head = head_.first < first_;
    if (!in_head) segment.last = first_;
    while (i < last_) {
      // Each round processes one sample of both, so that lanes do not diverge.
      if (!ahead_known && ahead < tail_.first) {
        sum_ahead += row_.sample(ahead);
        ++ahead;
        ahead_known = row_.code(ahead) != Code::continues;
      }
      if (i == segment.last && (ahead_known || i == tail_.first)) {
        segment = look_at(i == tail_.first ? tail_ : SharedSegment{i, ahead, sum_ahead});
        message = segment.length * segment.u_first;
        ends.tail = Side::unknown;
        in_head = false;
        sum_ahead = 0;
        ahead_known = false;
      }
      if (i == segment.last) continue;
      message += segment.asks(row_.sample(i));
      const bool at_end = i + 1 == segment.last;
      const double high = segment.length * (at_end ? segment.u_last : row_.lam(i));
      const double low = at_end ? high : -high;
      const bool above = message > high;
      const bool below = message < low;
      if (above || below || at_end) {
        const Side side = above ? Side::above : (below ? Side::below : Side::even);
        message = below ? low : high;
        if (in_head && ends.head == Side::unknown) ends.head = side;
        ends.any_cut = cut_between(ends, side) || ends.any_cut;
        ends.tail = side;
        ends.tail_last = i;
      }
      ++i;
    }
    if (segment.last == last_) ends.tail = Side::unknown;
    return ends;
  }

  /// Cuts after the lane's tail if the samples after it are on the other side.
  constexpr bool cut_between(const OpenEnds& ends, Side behind) const noexcept {
    const bool down = ends.tail == Side::above && behind == Side::below;
    const bool up = ends.tail == Side::below && behind == Side::above;
    if (down || up) row_.cut(ends.tail_last + 1, down);
    return down || up;
  }

  /// The value of a segment of the solution.
  [[nodiscard]] constexpr double value(const SharedSegment& segment) const noexcept {
    const Segment known = look_at(segment);
    return known.total / known.length;
  }

 private:
  struct Segment {
    std::int32_t last;
    double length;
    double u_first;  // the dual variable before it and after it
    double u_last;
    double total;  // its length times its value if it were one of the solution

    [[nodiscard]] constexpr double asks(double sample) const noexcept {
      return length * sample - total;
    }
  };

  [[nodiscard]] constexpr Segment look_at(const SharedSegment& segment) const noexcept {
    const double u_first = dual_before(segment.first);
    const double u_last = dual_before(segment.last);
    return {segment.last, static_cast<double>(segment.last - segment.first), u_first, u_last,
            segment.sum + (u_first - u_last)};
  }
  /// The dual variable before sample i, where there is a border or an end of the row.
  [[nodiscard]] constexpr double dual_before(std::int32_t i) const noexcept {
    if (i == 0 || i == n_) return 0;
    return -jump_sign(row_.code(i)) * row_.lam(i - 1);
  }

  Row& row_;
  const std::int32_t first_;
  const std::int32_t last_;
  const std::int32_t n_;
  const SharedSegment head_;
  const SharedSegment tail_;
};

}  // namespace tautstring::detail
