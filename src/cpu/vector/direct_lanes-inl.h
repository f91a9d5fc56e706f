// The direct method (step/direct.h) on one job a lane. Per-target; see
// vector/targets.h.
//
// A lane takes kSteps samples at a time, then stops to look: where it found a
// jump it goes back to behind the last touch, where its job is done or used up
// its credit it takes the next one. None of this branches. kGroups vectors are
// worked on at the same time, as each waits for its own last result.
#if defined(TAUTLINE_DIRECT_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_DIRECT_LANES_INL_H_
#undef TAUTLINE_DIRECT_LANES_INL_H_
#else
#define TAUTLINE_DIRECT_LANES_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/vector/lane_jobs.h"
#include "cpu/vector/lanes-inl.h"
#include "hwy/highway.h"
#include "step/direct.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::detail::HWY_NAMESPACE {

/// The variants differ in speed alone: every lane computes the same.
template <int kSteps_, int kGroups_, bool kInStep_>
struct Shape {
  static constexpr int kSteps = kSteps_;
  static constexpr int kGroups = kGroups_;
  static constexpr bool kInStep = kInStep_;  // start a segment of short ones without stopping
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

  /// Codes are written where a lane starts a segment: at once, whether it does or
  /// not, or, where that would be many lanes for few codes, by way of notes.
  static constexpr bool kNoted = kLanes == 16 && !Shape::kInStep;
  static constexpr std::size_t kNotes = 1024;
  static constexpr int kCodeShift = 30;  // in a note, above the sample

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
    MI alive;
    V u_end;
    V lam_min, lam_max;  // kEdges: lam where it last touched
  };

 public:
  DirectLanes(const LaneJobs<T>& jobs, FoundJumps& found) noexcept : jobs_(jobs), found_(found) {}

  HWY_INLINE void run() noexcept {
    Group g[kGroups];
    TAUTLINE_UNROLL for (int q = 0; q < kGroups; ++q) start(g[q]);
    for (;;) {
      MI any = g[0].alive;
      TAUTLINE_UNROLL for (int q = 1; q < kGroups; ++q) any = hn::Or(any, g[q].alive);
      if (hn::AllFalse(di, any)) break;
      advance(g);
      if (kNoted && noted_ > kNotes - kGroups * kLanes * 2) write_notes();
    }
    write_notes();
  }

 private:
  HWY_INLINE void start(Group& g) noexcept {
    g.u_min = g.u_max = g.v_min = g.v_max = hn::Zero(d);
    g.lam = g.u_start = g.u_end = g.lam_min = g.lam_max = hn::Zero(d);
    g.k = g.k0 = g.k_min = g.k_max = g.last = g.credit = g.code = hn::Zero(di);
    g.alive = hn::MaskFromVec(hn::Set(di, TI{-1}));
    take_jobs(g, g.alive);
    g.k_min = g.k_max = g.k0;
  }

  /// Gives the next jobs to the lanes of `wanted`, lane by lane.
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
    g.credit = hn::IfThenElse(wanted, hn::Add(hn::Sub(last, first), one), g.credit);
    const MI none_left = hn::And(wanted, hn::Lt(last, hn::Zero(di)));
    g.alive = hn::AndNot(none_left, g.alive);
    next_ = std::min(next_ + static_cast<std::int32_t>(hn::CountTrue(di, wanted)), jobs_.count);
  }

  HWY_INLINE void advance(Group (&g)[kGroups]) noexcept {
    const VI one = hn::Set(di, TI{1});
    const V one_value = hn::Set(d, T{1});
    V x[kGroups][kSteps];
    V edge[kGroups][kEdges ? kSteps : 1];
    V length[kGroups];
    HWY_ALIGN TI from[kGroups][kLanes];
    VI codes[kGroups];  // of the samples taken, a byte each
    VI ahead[kGroups];  // samples up to the last
    VI at[kGroups];     // the sample a lane is at; stays where the lane stops
    M going[kGroups], fresh[kGroups], down[kGroups], up[kGroups];
    M min_here[kGroups], max_here[kGroups];  // touched at the sample before
    TAUTLINE_UNROLL for (int q = 0; q < kGroups; ++q) {
      hn::Store(g[q].k, di, from[q]);
      launder(from[q]);
      load_transposed<kSteps>(d, jobs_.x + 1, from[q], x[q]);
      if constexpr (kEdges) load_transposed<kSteps>(d, jobs_.edge_lam + 1, from[q], edge[q]);
      ahead[q] = hn::Sub(g[q].last, g[q].k);
      length[q] = hn::ConvertTo(d, hn::Add(hn::Sub(g[q].k, g[q].k0), one));
      going[q] = hn::RebindMask(d, g[q].alive);
      fresh[q] = hn::RebindMask(d, hn::And(g[q].alive, hn::Lt(g[q].k, g[q].k0)));
      down[q] = up[q] = hn::MaskFromVec(hn::Zero(d));
      codes[q] = hn::IfThenElseZero(hn::Lt(g[q].k, g[q].k0), g[q].code);
      at[q] = g[q].k;
      if constexpr (Shape::kInStep) {
        min_here[q] = hn::RebindMask(d, hn::Eq(g[q].k_min, g[q].k));
        max_here[q] = hn::RebindMask(d, hn::Eq(g[q].k_max, g[q].k));
      }
    }
    TAUTLINE_UNROLL for (int j = 0; j < kSteps; ++j) {
      TAUTLINE_UNROLL for (int q = 0; q < kGroups; ++q) {
        Group& s = g[q];
        const V xj = x[q][j];
        const MI going_index = hn::RebindMask(di, going[q]);
        at[q] = hn::IfThenElse(going_index, hn::Add(at[q], one), at[q]);
        const M last = hn::RebindMask(d, hn::Eq(ahead[q], hn::Set(di, static_cast<TI>(j + 1))));
        V high, low;
        if constexpr (kEdges) {
          high = edge[q][j];
          low = hn::Neg(high);
          if constexpr (kEnd == JobEnd::piece) {
            high = hn::IfThenElse(last, s.u_end, high);
            low = hn::IfThenElse(last, s.u_end, low);
          }
        } else if constexpr (kEnd == JobEnd::row) {
          high = hn::IfThenZeroElse(last, s.lam);
          low = hn::Neg(high);
        } else if constexpr (kEnd == JobEnd::piece) {
          high = hn::IfThenElse(last, s.u_end, s.lam);
          low = hn::IfThenElse(last, s.u_end, hn::Neg(s.lam));
        } else {
          high = s.lam;
          low = hn::Neg(high);
        }
        const V a = hn::Add(s.u_min, hn::Sub(xj, s.v_min));
        const V b = hn::Add(s.u_max, hn::Sub(xj, s.v_max));
        length[q] = hn::Add(length[q], one_value);
        const V share = hn::Div(one_value, length[q]);

        // What a stopped lane computes from here on is not used, so only what
        // it remembers is masked.
        M inside = j == 0 ? hn::AndNot(fresh[q], going[q]) : going[q];
        M falls = Within<D>{inside}.lt(a, low);
        inside = hn::AndNot(falls, inside);
        M rises = Within<D>{inside}.gt(b, high);
        inside = hn::AndNot(rises, inside);
        M restarts;
        if constexpr (Shape::kInStep) {
          const M falls_here = hn::And(falls, min_here[q]);
          const M rises_here = hn::And(rises, max_here[q]);
          restarts = hn::Or(falls_here, rises_here);
          falls = hn::AndNot(falls_here, falls);
          rises = hn::AndNot(rises_here, rises);
          const MI restarts_index = hn::RebindMask(di, restarts);
          codes[q] = or_where(hn::RebindMask(di, falls_here), Code::down, j, codes[q]);
          codes[q] = or_where(hn::RebindMask(di, rises_here), Code::up, j, codes[q]);
          if constexpr (kEdges) {
            s.u_start = hn::IfThenElse(falls_here, s.lam_min, s.u_start);
            s.u_start = hn::IfThenElse(rises_here, hn::Neg(s.lam_max), s.u_start);
          } else {
            s.u_start = hn::IfThenElse(falls_here, s.lam, s.u_start);
            s.u_start = hn::IfThenElse(rises_here, hn::Neg(s.lam), s.u_start);
          }
          // These samples were read once: they cost no credit.
          s.credit = hn::IfThenElse(
              restarts_index, hn::Add(s.credit, hn::ShiftLeft<kCreditShift>(hn::Sub(at[q], s.k0))),
              s.credit);
          s.credit = hn::IfThenElse(restarts_index, hn::Sub(s.credit, one), s.credit);
          s.k0 = hn::IfThenElse(restarts_index, at[q], s.k0);
          length[q] = hn::IfThenElse(restarts, one_value, length[q]);
        }
        down[q] = hn::Or(down[q], falls);
        up[q] = hn::Or(up[q], rises);
        M touches_min = Within<D>{inside}.ge(a, high);
        M touches_max = Within<D>{inside}.le(b, low);
        s.u_min = hn::Min(a, high);
        s.u_max = hn::Max(b, low);
        s.v_min = hn::Add(s.v_min, hn::Mul(hn::Sub(a, s.u_min), share));
        s.v_max = hn::Add(s.v_max, hn::Mul(hn::Sub(b, s.u_max), share));
        if (Shape::kInStep || j == 0) {
          M starts = j == 0 ? fresh[q] : hn::MaskFromVec(hn::Zero(d));
          if constexpr (Shape::kInStep) starts = j == 0 ? hn::Or(fresh[q], restarts) : restarts;
          s.v_min = hn::IfThenElse(starts, hn::Add(xj, hn::Sub(s.u_start, high)), s.v_min);
          s.v_max = hn::IfThenElse(starts, hn::Add(xj, hn::Sub(s.u_start, low)), s.v_max);
          s.u_min = hn::IfThenElse(starts, high, s.u_min);
          s.u_max = hn::IfThenElse(starts, low, s.u_max);
          inside = hn::Or(inside, starts);
          if constexpr (Shape::kInStep || kEdges) {
            touches_min = hn::Or(touches_min, starts);
            touches_max = hn::Or(touches_max, starts);
          }
        }
        const MI min_index = hn::RebindMask(di, touches_min);
        const MI max_index = hn::RebindMask(di, touches_max);
        s.k_min = hn::IfThenElse(min_index, at[q], s.k_min);
        s.k_max = hn::IfThenElse(max_index, at[q], s.k_max);
        if constexpr (kEdges) {
          s.lam_min = hn::IfThenElse(touches_min, high, s.lam_min);
          s.lam_max = hn::IfThenElse(touches_max, high, s.lam_max);
        }
        if constexpr (Shape::kInStep) {
          min_here[q] = touches_min;
          max_here[q] = touches_max;
        }
        going[q] = hn::AndNot(last, inside);
      }
    }
    TAUTLINE_UNROLL for (int q = 0; q < kGroups; ++q) {
      if constexpr (!kNoted) {
        HWY_ALIGN TI taken[kLanes];
        hn::Store(codes[q], di, taken);
        launder(taken);
        // The last of them may lie behind the job, where others write.
        TAUTLINE_UNROLL for (int i = 0; i < kLanes; ++i) {
          or_bytes<Shape::kInStep ? kSteps : 1>(found_.codes + 1 + from[q][i], taken[i]);
        }
      }
      stop_and_look(g[q], hn::RebindMask(di, going[q]), down[q], up[q], at[q]);
    }
  }

  HWY_INLINE void stop_and_look(Group& g, MI going, M down, M up, VI at) noexcept {
    const VI one = hn::Set(di, TI{1});
    const MI up_index = hn::RebindMask(di, up);
    const MI jumped = hn::RebindMask(di, hn::Or(down, up));
    const MI stopped = hn::AndNot(going, g.alive);
    const VI segment_last = hn::IfThenElse(up_index, g.k_max, g.k_min);
    const VI next_first = hn::Add(segment_last, one);

    const VI won = hn::ShiftLeft<kCreditShift>(hn::Sub(next_first, g.k0));
    const VI credit = hn::Add(g.credit, hn::Sub(won, hn::Sub(at, segment_last)));
    g.credit = hn::IfThenElse(jumped, credit, g.credit);
    const MI exhausted = hn::And(jumped, hn::Lt(credit, hn::Zero(di)));
    if (HWY_UNLIKELY(!hn::AllFalse(di, exhausted))) hand_over(next_first, exhausted, up_index);
    if constexpr (kNoted) {
      const VI code = hn::ShiftLeft<kCodeShift>(code_of(up_index));
      hn::StoreU(hn::Compress(hn::Or(next_first, code), jumped), di, notes_ + noted_);
      noted_ += hn::CountTrue(di, jumped);
    } else {
      g.code = hn::IfThenElse(jumped, code_of(up_index), g.code);
    }

    const V after_down = kEdges ? g.lam_min : g.lam;
    const V after_up = hn::Neg(kEdges ? g.lam_max : g.lam);
    g.u_start = hn::IfThenElse(down, after_down, g.u_start);
    g.u_start = hn::IfThenElse(up, after_up, g.u_start);
    g.k = hn::IfThenElse(going, hn::Add(g.k, hn::Set(di, TI{kSteps})), segment_last);
    g.k0 = hn::IfThenElse(stopped, next_first, g.k0);
    const MI finished = hn::Or(hn::AndNot(jumped, stopped), exhausted);
    if (!hn::AllFalse(di, finished)) take_jobs(g, finished);
    g.k_min = hn::IfThenElse(stopped, g.k0, g.k_min);
    g.k_max = hn::IfThenElse(stopped, g.k0, g.k_max);
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

  HWY_INLINE void write_notes() noexcept {
    for (std::size_t i = 0; i < noted_; ++i) {
      const auto note = static_cast<std::uint32_t>(notes_[i]);
      found_.codes[note & ((1U << kCodeShift) - 1)] = static_cast<Code>(note >> kCodeShift);
    }
    noted_ = 0;
  }

  const LaneJobs<T>& jobs_;
  FoundJumps& found_;
  std::int32_t next_ = 0;
  std::size_t noted_ = 0;
  HWY_ALIGN TI notes_[kNoted ? kNotes : 1];
};

}  // namespace tautline::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
