// The search for jumps by lanes, each in its own part of a row: on a device 32 of them go
// together, on the host there is one. Knows samples and edges only through a Source,
// segments only through a Sink.
//
// A Source has sample(i), lam(i) and load(i, samples) which reads a group of samples from
// i on, anything behind the piece (behind the row NaN, unless searches are pinned), and
// gives their lams back. A Sink has put(first, code, value) for the start of a segment.
//
// The loops end by a vote of the lanes: otherwise a device's compiler makes an inner loop
// of the steps between two jumps, which all lanes leave together.
#pragma once

#include <cstdint>
#include <limits>

#include "step/slope_search.h"

namespace tautline::detail {

/// A lane's part of a row: samples first .. last - 1.
struct Piece {
  std::int32_t first;
  std::int32_t last;
  Code code;   // of its first sample
  Code after;  // of the sample behind it; continues: the row ends
  bool active;
};

/// Searches samples first .. last - 1, group by group; on_cut(search, cut, next) is
/// called where a segment ends, with the sample behind all that were read, and says
/// whether the lane is done. It may move `first` and the search on. Lanes that have
/// nothing to search wait at sample `safe`.
template <class Search, class T, class Source, class OnCut>
constexpr void for_each_cut(const Source& source, std::int32_t& first, std::int32_t last, T u_first,
                            T u_last, bool active, std::int32_t safe,
                            const OnCut& on_cut) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  const T zero = source.lam(safe) * T(0);
  const Arithmetic arithmetic = {zero, zero + T(1)};
  bool done = !active;
  if (done) first = safe;
  Search search;
  search.begin(source.sample(first), u_first, source.lam(first));
  std::int32_t next = first + 1;
  do {
    T samples[kGroup];
    const auto lams = source.load(done ? safe : next, samples);
    const T sum_before = search.sum;
    const T rest_before = search.rest;
    search.take(samples, lams, static_cast<T>(last - first), arithmetic);
    next += kGroup;
    if (!done && (search.crossed() || next >= last)) {
      SegmentCut<T> cut = search.cut();
      if (!search.crossed()) {
        T part = Search::kCarries ? rest_before : T(0);
        for (int j = 0; j < kGroup; ++j) {
          if (next - kGroup + j < last) part += samples[j];
        }
        cut = search.cut_at_end(sum_before + part, {static_cast<T>(last - first), u_last},
                                arithmetic);
      }
      done = on_cut(search, cut, next);
      next = first + 1;
    }
  } while (arithmetic.any_lane(!done));
}

/// A place that the true search passes, whatever came before it.
struct CommonJump {
  bool found;
  std::int32_t first;  // the sample behind the jump
  Code code;
};

/// Runs two searches from sample `start` > 0, with the dual variable at either end of
/// its range, until both are behind the same jump or beyond `limit`.
template <class Search, class T, class Source>
[[nodiscard]] constexpr CommonJump find_common_jump(const Source& source, std::int32_t start,
                                                    std::int32_t limit, std::int32_t n, bool active,
                                                    std::int32_t safe) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  std::int32_t first = start;
  std::int32_t other = start;
  Code code = Code::down;
  Code other_code = Code::up;
  bool found = false;
  const T u_first = active ? source.lam(start - 1) : T(0);
  // No search looks further than this; one that would is given up.
  const std::int32_t last = n - limit < limit - start ? n : limit + (limit - start);
  for_each_cut<Search, T>(source, first, last, u_first, T(0), active, safe,
                          [&](Search& search, const SegmentCut<T>& cut, std::int32_t /*next*/) {
                            // Where its samples end a search knows nothing, unless the row does.
                            const bool knows = search.crossed() || last == n;
                            if (!knows || cut.jump == Code::continues) return true;
                            first += Arithmetic::to_int(cut.length);
                            code = cut.jump;
                            found = first == other && code == other_code;
                            if (found || first >= n) return true;
                            if (first >= other) {  // the one behind goes on
                              const std::int32_t first_of_other = other;
                              const Code code_of_other = other_code;
                              other = first;
                              other_code = code;
                              first = first_of_other;
                              code = code_of_other;
                            }
                            if (first >= limit) return true;
                            search.begin(source.sample(first),
                                         dual_at_jump(code, source.lam(first - 1)),
                                         source.lam(first));
                            return false;
                          });
  return {found, first, code};
}

/// Finds the segments of a piece; returns whether the lane gave up, having read too
/// many samples again.
template <class Search, class T, class Source, class Sink>
constexpr bool search_piece(const Source& source, const Piece& piece, std::int32_t safe,
                            Sink& sink) noexcept {
  using Arithmetic = typename Search::ArithmeticType;
  std::int32_t first = piece.first;
  const T u_first = piece.active && piece.first > 0
                        ? dual_at_jump(piece.code, source.lam(piece.first - 1))
                        : T(0);
  const T u_last = piece.active && piece.after != Code::continues
                       ? dual_at_jump(piece.after, source.lam(piece.last - 1))
                       : T(0);
  Code code = piece.code;
  T last_value = std::numeric_limits<T>::quiet_NaN();
  constexpr std::int32_t kStartCredit = 256;
  std::int32_t credit = piece.last - piece.first + kStartCredit;
  for_each_cut<Search, T>(
      source, first, piece.last, u_first, u_last, piece.active, safe,
      [&](Search& search, const SegmentCut<T>& cut, std::int32_t next) {
        const std::int32_t length = Arithmetic::to_int(cut.length);
        const bool ends = cut.jump == Code::continues;
        const T u_cut = ends ? u_last : dual_at_jump(cut.jump, source.lam(first + length - 1));
        const T value = Arithmetic::divide(cut.sum + (search.u_start - u_cut), cut.length);
        if (is_real_jump(code, last_value, value)) {
          sink.put(first, code, value);
          last_value = value;
        }
        if (ends) return true;
        // As many samples may be read again as the piece has, and four for each that a
        // finished segment has.
        credit += 5 * length - (next - first);
        first += length;
        code = cut.jump;
        search.begin(source.sample(first), u_cut, source.lam(first));
        return credit < 0;
      });
  return piece.active && credit < 0;
}

}  // namespace tautline::detail
