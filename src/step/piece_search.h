// The search for jumps by lanes, each in its own part of a row. On a device 32 lanes run together,
// on the host there is one. Knows samples and edges only through a Source, segments only through a
// Sink.
//
// A Source has sample(i), lam(i), prepare(first, next, last), which all lanes call before samples
// from `next` on are read, load(i, last, samples), which reads a group of samples from i on (NaN
// from `last` on) and returns their lams, and zero(), a 0 that is opaque to the compiler. A Sink
// has put(first, is_real, down, value) for the start of a segment after a jump, or at the start of
// the row, where `down` has no meaning.
//
// The loops end by a vote of the lanes. Otherwise a device's compiler makes an inner loop of the
// steps between two jumps, which all lanes must leave together.
#pragma once

#include <cstdint>
#include <limits>

#include "step/slope_search.h"

namespace tautstring::detail {

/// A lane's part of a row: samples first .. last - 1.
struct Piece {
  std::int32_t first;
  std::int32_t last;
  Code code;   // of its first sample
  Code after;  // of the sample after it; continues: the row ends
  bool active;
};

/// Searches samples first .. last - 1, group by group; on_cut(search, cut) is called where a
/// segment ends. It advances `first` and the search and returns `last`, or 0 when the lane is done.
/// From time to time is_over(groups), with the number of groups read so far, returns whether a lane
/// that is not done gives up.
template <class Search, class T, class Source, class OnCut, class IsOver>
constexpr void for_each_cut(const Source& source, std::int32_t& first, std::int32_t last, T u_first,
                            T u_last, bool active, const OnCut& on_cut,
                            const IsOver& is_over) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  constexpr std::int32_t kGroupsBetweenLooks = 64;
  const T zero = source.zero();
  const Arithmetic arithmetic = {zero, zero + T(1)};
  if (!active) first = last = 0;  // a lane whose piece ends at 0 is done
  Search search;
  search.begin(active ? source.sample(first) : T(0), u_first, active ? source.lam(first) : T(0));
  std::int32_t next = first + 1;
  std::int32_t groups = 0;
  bool any = true;
  do {
    T samples[kGroup];
    source.prepare(first, next, last);
    const auto lams = source.load(next, last, samples);
    const auto before = search.before_group();
    search.take(samples, lams, arithmetic);
    next += last > 0 ? kGroup : 0;  // a lane may be done long before others
    ++groups;
    const bool crossed = search.crossed();
    if ((crossed || next >= last) && last > 0) {
      SegmentCut<T> cut = search.cut();
      if (!crossed) {
        cut = search.template cut_at_end<decltype(lams)>(before, samples,
                                                         {static_cast<T>(last - first), u_last});
      }
      last = on_cut(search, cut);
      next = first + 1;
    }
    any = arithmetic.any_lane(last > 0);
    if (any && groups % kGroupsBetweenLooks != 0) continue;
    if (last > 0 && is_over(groups)) last = 0;
    any = arithmetic.any_lane(last > 0);
  } while (any);
}

/// A jump that the true search finds, whatever came before it.
struct CommonJump {
  bool found;
  std::int32_t first;  // the sample after the jump
  Code code;
};

/// Runs two searches from sample `start` > 0, with the dual variable at its two bounds, until both
/// are after the same jump or past `limit`.
template <class Search, class T, class Source>
[[nodiscard]] constexpr CommonJump find_common_jump(const Source& source, std::int32_t start,
                                                    std::int32_t limit, std::int32_t n,
                                                    bool active) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  std::int32_t first = start;
  std::int32_t other = start;
  bool down = true;
  bool other_down = false;
  bool found = false;
  const T u_first = active ? source.lam(start - 1) : T(0);
  // No search reads further than this; one that would is given up.
  const std::int32_t last = n - limit < limit - start ? n : limit + (limit - start);
  for_each_cut<Search, T>(
      source, first, last, u_first, T(0), active,
      [&](Search& search, const SegmentCut<T>& cut) -> std::int32_t {
        // Where its samples end, a search has no result, unless the row ends there.
        if (!search.crossed() && last < n) return 0;
        first += Arithmetic::to_int(cut.length);
        down = cut.down;
        if (first >= n) return 0;
        found = first == other && down == other_down;
        if (found) return 0;
        if (first >= other) {  // the one that is behind continues
          const std::int32_t first_of_other = other;
          const bool down_of_other = other_down;
          other = first;
          other_down = down;
          first = first_of_other;
          down = down_of_other;
        }
        if (first >= limit) return 0;
        search.begin(source.sample(first), dual_at_jump(down, source.lam(first - 1)),
                     source.lam(first));
        return last;
      },
      [](std::int32_t /*groups*/) { return false; });
  return {found, first, down ? Code::down : Code::up};
}

/// The outcome for a piece.
struct PieceResult {
  bool gave_up;  // after reading too many samples again
  bool is_odd;   // a value is not finite: some sample is not, or is too large
  bool jumps;    // there are jumps within the piece
};

/// A search may read this many groups for each sample of a finished segment, plus one for each
/// sample of its piece: a lookahead of 300 samples throughout.
inline constexpr std::int32_t kGroupsPerSample = 50;

/// Finds the segments of a piece.
template <class Search, class T, class Source, class Sink>
constexpr PieceResult search_piece(const Source& source, const Piece& piece, Sink& sink) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  std::int32_t first = piece.first;
  const T u_first = piece.active && piece.first > 0
                        ? dual_at_jump(piece.code == Code::down, source.lam(piece.first - 1))
                        : T(0);
  const T u_last = piece.active && piece.after != Code::continues
                       ? dual_at_jump(piece.after == Code::down, source.lam(piece.last - 1))
                       : T(0);
  T last_value = std::numeric_limits<T>::quiet_NaN();
  T oddness = 0;  // NaN from the first value on that is not finite
  bool gave_up = false;
  for_each_cut<Search, T>(
      source, first, piece.last, u_first, u_last, piece.active,
      [&](Search& search, const SegmentCut<T>& cut) -> std::int32_t {
        // Without branches, although a lane at the end of its piece starts no segment.
        const std::int32_t behind = first + Arithmetic::to_int(cut.length);
        const bool ends = behind == piece.last;
        // Read before the sink writes, as no compiler can know that it writes elsewhere.
        const T first_behind = ends ? T(0) : source.sample(behind);
        const T lam_behind = ends ? T(0) : source.lam(behind);
        const T u_cut = ends ? u_last : dual_at_jump(cut.down, source.lam(behind - 1));
        const T value = Arithmetic::divide(cut.sum + (search.u_start - u_cut), cut.length);
        const bool down = search.u_start > 0;
        const bool is_real = is_real_jump(down, last_value, value);
        sink.put(first, is_real, down, value);
        oddness += value - value;
        last_value = is_real ? value : last_value;
        first = ends ? first : behind;
        search.begin(first_behind, u_cut, lam_behind);
        return ends ? 0 : piece.last;
      },
      [&](std::int32_t groups) {
        // Nothing is finished while the first segment is read, hence the length of the piece.
        const std::int32_t spent = groups - (piece.last - piece.first);
        gave_up = spent / kGroupsPerSample > first - piece.first;
        return gave_up;
      });
  return {piece.active && gave_up, piece.active && oddness != 0,
          piece.active && first != piece.first};
}

}  // namespace tautstring::detail
