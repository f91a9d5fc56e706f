// The solution by levels: every segment that is known so far is split where the solution
// crosses a threshold, until none is. For many lanes that share a row: a level is two walks
// along a lane's samples whatever the row, where a search reads smooth ones again and again.
// Shared by host and device; knows a row only through what it is asked.
//
// A segment lies between borders of the solution, so the dual variable is known at both ends.
// Its threshold is the value that it would have if it were one segment of the solution: the
// mean. Along it
//   message += sample - threshold, kept within [-lam, lam] at each edge,
// is what the samples so far ask of those that follow, and where it is cut off at an edge the
// samples before it are on one side of the threshold whatever follows: above it where the
// message was too large. The end tells it of the last ones. So the solution crosses the
// threshold at the last cut-off before one to the other side. Without such a place the segment
// is one of the solution.
//
// What an edge does to a message, and a stretch of them, is a shift and a clamp, and so is one
// after the other: lanes tell one another what their samples do to any message. They also tell
// one another the sums of segments that they share; those within a lane it adds up itself, one
// segment ahead of the one that it splits, so that no level needs memory but for the codes.
//
// Messages and thresholds are multiplied by the segment's length, so that small whole numbers
// stay whole. A level of a row that rises evenly halves its segments; one that rises as no other
// does needs as many as its type has powers of two.
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

/// Of a threshold; `even` is neither.
enum class Side : std::uint8_t { unknown, above, below, even };

/// What a lane's walk does not know the outcome of.
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
///   code(i): of the border before sample i, continues where there is none,
///   cut(i, down): puts a border before sample i.
template <class Row>
class SplitLane {
 public:
  /// `head` holds the samples before the lane's first border and `tail` those from its last one
  /// on; both are the same where it has none.
  constexpr SplitLane(Row& row, std::int32_t first, std::int32_t last, std::int32_t n,
                      const SharedSegment& head, const SharedSegment& tail) noexcept
      : row_(row), first_(first), last_(last), n_(n), head_(head), tail_(tail) {}

  /// What the lane does to a message.
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

  /// Puts borders where the solution crosses the thresholds. `message` comes in before the
  /// lane's first sample.
  [[nodiscard]] constexpr OpenEnds walk(double message) const noexcept {
    OpenEnds ends;
    std::int32_t i = first_;
    // The segment ahead: its samples up to `ahead` are summed up, all of them once it is known.
    std::int32_t ahead = head_.first < first_ ? head_.last : first_;
    double sum_ahead = 0;
    bool ahead_known = false;
    Segment segment = look_at(head_);
    bool in_head = head_.first < first_;
    if (!in_head) segment.last = first_;
    while (i < last_) {
      // Each round does one sample of both, so that lanes go together.
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

  /// Cuts behind the lane's tail where the samples behind it are on the other side.
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
    double u_first;  // the dual variable before it and behind it
    double u_last;
    double total;  // its length times its value, were it one of the solution

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
