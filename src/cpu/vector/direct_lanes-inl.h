// The direct method (step/direct.h) on one job per lane. Per-target; see vector/lane_jobs.h.
//
// A lane takes kSteps samples at a time (a round), then stops. A lane that found a jump goes back
// to the sample after the last touch; a lane whose job is done or has used up its credit takes the
// next one. None of this branches. kGroups vectors are processed at the same time, as each waits
// for its own previous result.
#if defined(TAUTSTRING_DIRECT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_DIRECT_LANES_INL_H_
#undef TAUTSTRING_DIRECT_LANES_INL_H_
#else
#define TAUTSTRING_DIRECT_LANES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/vector/lane_jobs.h"
#include "cpu/vector/lanes-inl.h"
#include "hwy/highway.h"
#include "step/direct.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// The variants differ only in speed: every lane computes the same.
template <int kSteps_, int kGroups_, bool kInStep_>
struct Shape {
  static constexpr int kSteps = kSteps_;
  static constexpr int kGroups = kGroups_;
  static constexpr bool kInStep = kInStep_;  // start a new segment without stopping, for short
                                             // segments
};

template <class T, class Shape, JobEnd kEnd, bool kEdges>
class DirectLanes {
  using D = hn::ScalableTag<T>;
  using DI = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  using VI = hn::Vec<DI>;
  using M = hn::Mask<D>;
  using MI = hn::Mask<DI>;
  using TI = hn::TFromD<DI>;

  static constexpr D d{};
  static constexpr DI di{};
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  static constexpr int kSteps = Shape::kSteps;
  static constexpr int kGroups = Shape::kGroups;

  /// How many samples of a lane are loaded together: more would not stay in registers.
  static constexpr int kLoad = 4;

  /// Codes are written where a lane starts a segment: either at once, for all lanes whether they do
  /// or not, or through notes, if many lanes would write few codes.
  static constexpr bool kNoted = sizeof(T) == 4 && kLanes >= 8 && !Shape::kInStep;
  static constexpr std::size_t kNotes = 1024;
  static constexpr int kCodeShift = 30;  // in a note, above the sample

  /// Whether rounds in which no job ends have code of their own. It is an eighth shorter, which
  /// helps only the widest vectors.
  static constexpr bool kEndsApart = kLanes * sizeof(T) == 64 && !Shape::kInStep;

  struct Group {
    V u_min, u_max, v_min, v_max;
    V lam;
    V u_start;        // the dual variable before the segment
    VI code;          // of the segment's first sample
    VI k;             // the last sample taken
    VI k0;            // the segment's first
    VI k_min, k_max;  // where it last touched
    VI last;
    VI credit;
    M alive;
    M fresh;               // lanes at the start of a segment
    M min_here, max_here;  // in step: lanes that touched at the last sample taken
    V u_end;
    V lam_min, lam_max;  // kEdges: lam where it last touched
  };

  /// State of a group between two stops.
  struct Round {
    M going;
    M up;      // lanes that jumped up
    VI ahead;  // samples up to the last
    VI k0;     // at the start of the round
    VI codes;  // of the samples taken, a byte each
    V length;  // of the segment, for lanes that go on
  };

  /// The sample before the first of a round, per lane: not part of Round, as it must be in memory
  /// and the rest in registers.
  struct Places {
    HWY_ALIGN TI of[kLanes];
  };

  /// The bounds of the dual variable after a sample.
  struct Bounds {
    V high, low;
  };

 public:
  DirectLanes(const LaneJobs<T>& jobs, FoundJumps& found) noexcept : jobs_(jobs), found_(found) {}

  HWY_INLINE void run() noexcept {
    Group g[kGroups];
    TAUTSTRING_UNROLL_ALL for (int q = 0; q < kGroups; ++q) start(g[q]);
    for (;;) {
      M any = g[0].alive;
      TAUTSTRING_UNROLL_ALL for (int q = 1; q < kGroups; ++q) any = hn::Or(any, g[q].alive);
      if (hn::AllFalse(d, any)) break;
      advance(g);
      if (kNoted && noted_ > kNotes - kGroups * kLanes * 2) write_notes();
    }
    write_notes();
    if constexpr (kEnd == JobEnd::open) {
      const auto least = hn::GetLane(hn::MinOfLanes(di, least_credit_));
      found_.least_credit = std::min(found_.least_credit, static_cast<std::int32_t>(least));
    }
  }

 private:
  HWY_INLINE void start(Group& g) noexcept {
    g.u_min = g.u_max = g.v_min = g.v_max = hn::Zero(d);
    g.lam = g.u_start = g.u_end = g.lam_min = g.lam_max = hn::Zero(d);
    g.k = g.k0 = g.k_min = g.k_max = g.last = g.credit = g.code = hn::Zero(di);
    g.min_here = g.max_here = hn::MaskFromVec(hn::Zero(d));
    g.alive = hn::RebindMask(d, hn::MaskFromVec(hn::Set(di, TI{-1})));
    take_jobs(g, hn::RebindMask(di, g.alive));
    g.fresh = g.alive;
  }

  /// Assigns the next jobs to the lanes of `wanted`, in order.
  HWY_INLINE void take_jobs(Group& g, MI wanted) noexcept {
    const auto lanes = Spread<D>(wanted);
    const VI one = hn::Set(di, TI{1});
    const VI first = lanes.spread(load_indices<DI>(jobs_.first + next_));
    const VI last = lanes.spread(load_indices<DI>(jobs_.last + next_));
    const V lam = lanes.spread(hn::LoadU(d, jobs_.lam + next_));
    const M wanted_values = hn::RebindMask(d, wanted);
    g.k0 = hn::IfThenElse(wanted, first, g.k0);
    g.k = hn::IfThenElse(wanted, hn::Sub(first, one), g.k);
    g.last = hn::IfThenElse(wanted, last, g.last);
    g.lam = hn::IfThenElse(wanted_values, lam, g.lam);
    if (jobs_.u_start != nullptr) {
      const V u_start = lanes.spread(hn::LoadU(d, jobs_.u_start + next_));
      g.u_start = hn::IfThenElse(wanted_values, u_start, g.u_start);
    } else {
      g.u_start = hn::IfThenZeroElse(wanted_values, g.u_start);
    }
    if constexpr (kEnd == JobEnd::piece) {
      const V u_end = lanes.spread(hn::LoadU(d, jobs_.u_end + next_));
      g.u_end = hn::IfThenElse(wanted_values, u_end, g.u_end);
    }
    g.code = hn::IfThenZeroElse(wanted, g.code);
    g.credit = hn::IfThenElse(wanted, first_credits(hn::Add(hn::Sub(last, first), one)), g.credit);
    const MI none_left = hn::And(wanted, hn::Lt(last, hn::Zero(di)));
    g.alive = hn::AndNot(hn::RebindMask(d, none_left), g.alive);
    next_ = std::min(next_ + static_cast<std::int32_t>(hn::CountTrue(di, wanted)), jobs_.count);
  }

  HWY_INLINE VI first_credits(VI lengths) const noexcept {
    if (jobs_.credit != 0) return hn::Set(di, static_cast<TI>(jobs_.credit));
    if constexpr (kEnd != JobEnd::row) return lengths;
    const VI part = hn::ShiftRight<kFirstCreditShift>(lengths);
    return hn::Min(lengths, hn::Max(part, hn::Set(di, TI{kFirstCredit})));
  }

  HWY_INLINE void advance(Group (&g)[kGroups]) noexcept {
    Places from[kGroups];
    Round r[kGroups];
    TAUTSTRING_UNROLL_ALL for (int q = 0; q < kGroups; ++q) {
      hn::Store(g[q].k, di, from[q].of);
      launder(from[q].of);
      r[q] = begin(g[q]);
    }
    if (!kEndsApart || any_ends(r)) {
      take_samples<true>(g, r, from);
    } else {
      take_samples<false>(g, r, from);
    }
    TAUTSTRING_UNROLL_ALL for (int q = 0; q < kGroups; ++q) {
      if constexpr (!kNoted) write_codes(from[q], r[q].codes);
      stop_and_look(g[q], r[q]);
    }
  }

  static HWY_INLINE Round begin(const Group& g) noexcept {
    Round r;
    r.going = g.alive;
    r.up = hn::MaskFromVec(hn::Zero(d));
    r.ahead = hn::Sub(g.last, g.k);
    r.k0 = g.k0;
    r.codes = hn::IfThenElseZero(hn::RebindMask(di, g.fresh), g.code);
    r.length = hn::ConvertTo(d, hn::Add(hn::Sub(g.k, g.k0), hn::Set(di, TI{1})));
    return r;
  }

  static HWY_INLINE bool any_ends(const Round (&r)[kGroups]) noexcept {
    VI ahead = r[0].ahead;
    TAUTSTRING_UNROLL_ALL for (int q = 1; q < kGroups; ++q) ahead = hn::Min(ahead, r[q].ahead);
    return !hn::AllFalse(di, hn::Lt(ahead, hn::Set(di, TI{kSteps + 1})));
  }

  template <bool kMayEnd>
  HWY_INLINE void take_samples(Group (&g)[kGroups], Round (&r)[kGroups],
                               const Places (&from)[kGroups]) noexcept {
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < kSteps; i += kLoad) {
      V x[kGroups][kLoad];
      V edge[kGroups][kEdges ? kLoad : 1];
      TAUTSTRING_UNROLL_ALL for (int q = 0; q < kGroups; ++q) {
        load_transposed<kLoad>(d, jobs_.x + 1 + i, from[q].of, x[q]);
        if constexpr (kEdges) {
          load_transposed<kLoad>(d, jobs_.edge_lam + 1 + i, from[q].of, edge[q]);
        }
      }
      TAUTSTRING_UNROLL_ALL for (int j = 0; j < kLoad; ++j) {
        TAUTSTRING_UNROLL_ALL for (int q = 0; q < kGroups; ++q) {
          take_sample<kMayEnd>(g[q], r[q], i + j, x[q][j],
                               kEdges ? edge[q][kEdges ? j : 0] : g[q].lam);
        }
      }
    }
  }

  /// Lets the lanes that are still going take their j-th sample of the round. What the others
  /// compute is not used, so only their state is masked.
  template <bool kMayEnd>
  HWY_INLINE void take_sample(Group& g, Round& r, int j, V x, V lam) noexcept {
    const VI one = hn::Set(di, TI{1});
    const V one_value = hn::Set(d, T{1});
    const M goes_on = hn::RebindMask(d, hn::Ne(r.ahead, hn::Set(di, static_cast<TI>(j + 1))));
    const auto [high, low] = bounds<kMayEnd>(g, lam, goes_on);
    const V a = hn::Add(g.u_min, hn::Sub(x, g.v_min));
    const V b = hn::Add(g.u_max, hn::Sub(x, g.v_max));
    r.length = hn::Add(r.length, one_value);
    const V share = hn::Div(one_value, r.length);

    const M tested = j == 0 ? hn::AndNot(g.fresh, r.going) : r.going;
    const M above = Within<D>{tested}.not_lt(a, low);
    M inside = Within<D>{above}.not_gt(b, high);
    M rises = hn::AndNot(inside, above);
    M starts = g.fresh;
    if constexpr (Shape::kInStep) {
      const M falls = hn::AndNot(above, tested);
      const M restarts =
          restart_in_step(g, r, j, hn::And(falls, g.min_here), hn::And(rises, g.max_here));
      rises = hn::AndNot(g.max_here, rises);
      starts = j == 0 ? hn::Or(starts, restarts) : restarts;
    }
    r.up = hn::Or(r.up, rises);
    M touches_min = Within<D>{inside}.ge(a, high);
    M touches_max = Within<D>{inside}.le(b, low);
    g.u_min = hn::Min(a, high);
    g.u_max = hn::Max(b, low);
    g.v_min = hn::Add(g.v_min, hn::Mul(hn::Sub(a, g.u_min), share));
    g.v_max = hn::Add(g.v_max, hn::Mul(hn::Sub(b, g.u_max), share));
    if (Shape::kInStep || j == 0) {
      g.v_min = hn::IfThenElse(starts, hn::Add(x, hn::Sub(g.u_start, high)), g.v_min);
      g.v_max = hn::IfThenElse(starts, hn::Add(x, hn::Sub(g.u_start, low)), g.v_max);
      g.u_min = hn::IfThenElse(starts, high, g.u_min);
      g.u_max = hn::IfThenElse(starts, low, g.u_max);
      inside = hn::Or(inside, starts);
      touches_min = hn::Or(touches_min, starts);
      touches_max = hn::Or(touches_max, starts);
    }
    g.k = hn::IfThenElse(hn::RebindMask(di, inside), hn::Add(g.k, one), g.k);
    g.k_min = hn::IfThenElse(hn::RebindMask(di, touches_min), g.k, g.k_min);
    g.k_max = hn::IfThenElse(hn::RebindMask(di, touches_max), g.k, g.k_max);
    if constexpr (kEdges) {
      g.lam_min = hn::IfThenElse(touches_min, high, g.lam_min);
      g.lam_max = hn::IfThenElse(touches_max, high, g.lam_max);
    }
    if constexpr (Shape::kInStep) {
      g.k0 = hn::IfThenElse(hn::RebindMask(di, starts), g.k, g.k0);
      g.min_here = touches_min;
      g.max_here = touches_max;
    }
    r.going = kMayEnd ? hn::And(inside, goes_on) : inside;
  }

  template <bool kMayEnd>
  static HWY_INLINE Bounds bounds(const Group& g, V lam, M goes_on) noexcept {
    if constexpr (kMayEnd && kEnd == JobEnd::piece) {
      return {hn::IfThenElse(goes_on, lam, g.u_end),
              hn::IfThenElse(goes_on, hn::Neg(lam), g.u_end)};
    } else if constexpr (kMayEnd && kEnd == JobEnd::row && !kEdges) {
      const V high = hn::IfThenElseZero(goes_on, lam);
      return {high, hn::Neg(high)};
    } else {
      return {lam, hn::Neg(lam)};
    }
  }

  /// Lanes whose segment ended with the sample before start the next one without a stop, as no
  /// sample must be read again. Returns these lanes.
  static HWY_INLINE M restart_in_step(Group& g, Round& r, int j, M falls, M rises) noexcept {
    const M restarts = hn::Or(falls, rises);
    const MI restarts_index = hn::RebindMask(di, restarts);
    r.codes = or_where(hn::RebindMask(di, falls), Code::down, j, r.codes);
    r.codes = or_where(hn::RebindMask(di, rises), Code::up, j, r.codes);
    g.u_start = hn::IfThenElse(falls, kEdges ? g.lam_min : g.lam, g.u_start);
    g.u_start = hn::IfThenElse(rises, hn::Neg(kEdges ? g.lam_max : g.lam), g.u_start);
    g.credit = hn::IfThenElse(restarts_index, hn::Sub(g.credit, hn::Set(di, TI{1})), g.credit);
    r.length = hn::IfThenElse(restarts, hn::Set(d, T{1}), r.length);
    return restarts;
  }

  HWY_INLINE void stop_and_look(Group& g, const Round& r) noexcept {
    const VI one = hn::Set(di, TI{1});
    const MI up = hn::RebindMask(di, r.up);
    const M stopped = hn::AndNot(r.going, g.alive);
    const MI stopped_index = hn::RebindMask(di, stopped);
    // A sample at which a lane jumped is not taken, even if it is the last.
    const MI ended = hn::And(stopped_index, hn::Eq(g.k, g.last));
    const MI jumped = hn::AndNot(ended, stopped_index);
    const VI segment_last = hn::IfThenElse(up, g.k_max, g.k_min);
    const VI next_first = hn::Add(segment_last, one);

    if constexpr (Shape::kInStep) {
      g.credit = hn::Add(g.credit, hn::ShiftLeft<kCreditShift>(hn::Sub(g.k0, r.k0)));
    }
    const VI won = hn::ShiftLeft<kCreditShift>(hn::Sub(next_first, g.k0));
    const VI read_again = hn::Add(hn::Sub(g.k, segment_last), one);
    const VI credit = hn::Add(g.credit, hn::Sub(won, read_again));
    g.credit = hn::IfThenElse(jumped, credit, g.credit);
    const MI exhausted = hn::And(jumped, hn::Lt(credit, hn::Zero(di)));
    if (HWY_UNLIKELY(!hn::AllFalse(di, exhausted))) hand_over(next_first, exhausted, up);
    if constexpr (kNoted) {
      const VI code = hn::ShiftLeft<kCodeShift>(code_of(up));
      const std::uint32_t bits = mask_bits(di, jumped);
      hn::StoreU(compress_lanes(di, hn::Or(next_first, code), bits), di, notes_ + noted_);
      noted_ += static_cast<std::size_t>(std::popcount(bits));
    } else {
      g.code = hn::IfThenElse(jumped, code_of(up), g.code);
    }

    const V after_down = kEdges ? g.lam_min : g.lam;
    const V after_up = hn::Neg(kEdges ? g.lam_max : g.lam);
    g.u_start = hn::IfThenElse(stopped, hn::IfThenElse(r.up, after_up, after_down), g.u_start);
    g.k = hn::IfThenElse(stopped_index, segment_last, g.k);
    g.k0 = hn::IfThenElse(stopped_index, next_first, g.k0);
    const MI finished = hn::Or(ended, exhausted);
    if (!hn::AllFalse(di, finished)) {
      if constexpr (kEnd == JobEnd::open) least_credit_ = least_of(least_credit_, ended, g.credit);
      take_jobs(g, finished);
    }
    g.fresh = hn::And(stopped, g.alive);
  }

  /// Writes bytes after the samples that a round started from: the last of them may lie past the
  /// end of the job, where others write.
  HWY_INLINE void write_codes(const Places& from, VI bytes) noexcept {
    HWY_ALIGN TI codes[kLanes];
    hn::Store(bytes, di, codes);
    launder(codes);
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < kLanes; ++i) {
      or_bytes<Shape::kInStep ? kSteps : 1>(found_.codes + 1 + from.of[i], codes[i]);
    }
  }

  static HWY_INLINE VI or_where(MI where, Code code, int step, VI v) noexcept {
    const auto bits = static_cast<TI>(static_cast<std::make_unsigned_t<TI>>(code) << (8 * step));
    return hn::IfThenElse(where, hn::Or(v, hn::Set(di, bits)), v);
  }

  template <int kBytes>
  static HWY_INLINE void or_bytes(Code* codes, TI bytes) noexcept {
    using Bytes = std::conditional_t<kBytes == 4, std::uint32_t, std::uint8_t>;
    static_assert(sizeof(Bytes) == kBytes);
    Bytes there;
    std::memcpy(&there, codes, kBytes);
    there = static_cast<Bytes>(there | static_cast<Bytes>(bytes));
    std::memcpy(codes, &there, kBytes);
  }

  static HWY_INLINE VI code_of(MI is_up) noexcept {
    return hn::IfThenElse(is_up, hn::Set(di, static_cast<TI>(Code::up)),
                          hn::Set(di, static_cast<TI>(Code::down)));
  }

  HWY_NOINLINE void hand_over(VI first, MI where, MI is_up) noexcept {
    HWY_ALIGN TI firsts[kLanes];
    HWY_ALIGN TI codes[kLanes];
    hn::Store(first, di, firsts);
    hn::Store(code_of(is_up), di, codes);
    for (std::uint32_t lanes = mask_bits(di, where); lanes != 0; lanes &= lanes - 1) {
      const int i = std::countr_zero(lanes);
      found_.handed_over[found_.handed_over_count++] = {static_cast<std::int32_t>(firsts[i]),
                                                        static_cast<Code>(codes[i])};
    }
  }

  static HWY_INLINE VI least_of(VI least, MI where, VI v) noexcept {
    return hn::IfThenElse(where, hn::Min(least, v), least);
  }

  HWY_INLINE void write_notes() noexcept {
    TAUTSTRING_UNROLL_ALL for (std::size_t i = 0; i < noted_; ++i) {
      const auto note = static_cast<std::uint32_t>(notes_[i]);
      found_.codes[note & ((1U << kCodeShift) - 1)] = static_cast<Code>(note >> kCodeShift);
    }
    noted_ = 0;
  }

  const LaneJobs<T>& jobs_;
  FoundJumps& found_;
  std::int32_t next_ = 0;
  VI least_credit_ = hn::Set(di, TI{std::numeric_limits<std::int32_t>::max()});
  std::size_t noted_ = 0;
  HWY_ALIGN TI notes_[kNoted ? kNotes : 1];
};

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
