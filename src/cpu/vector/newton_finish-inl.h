// Computes values, codes and dual variables from the edges that Newton's iterations (newton-inl.h)
// leave at their bounds, one row per lane. Per-target.
#if defined(TAUTSTRING_NEWTON_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_NEWTON_FINISH_INL_H_
#undef TAUTSTRING_NEWTON_FINISH_INL_H_
#else
#define TAUTSTRING_NEWTON_FINISH_INL_H_
#endif

#include <cstdint>

#include "cpu/vector/newton_vectors-inl.h"
#include "hwy/highway.h"
#include "step/row/row_solver.h"
#include "tautstring/partition.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// Computes the results from the edges at their bounds, by the same operations as fill_values and
/// NewtonWorker: the same segments give the same bits.
template <class Lams>
class NewtonFinish : NewtonVectors {
 public:
  HWY_INLINE NewtonFinish(NewtonLanes& rows, Lams lams) noexcept : rows_(rows), lams_(lams) {}

  /// Returns the lanes in which a jump contradicts its edge.
  HWY_INLINE M finish() noexcept {
    if (sum_segments() > kRefinedLength) {
      spread();
      sum_again();
    }
    if (rows_.wants_dual) {
      spread();
      store_dual();
    }
    return store_y();
  }

 private:
  /// Stores the value of each segment at its last sample. Returns the length of the longest
  /// segment.
  HWY_INLINE double sum_segments() noexcept {
    const D d;
    V x = at(rows_.x, 0);
    V first = x;
    V longest = hn::Zero(d);
    Sum sum(d);
    for (std::int32_t k = 0;; ++k) {
      const V u = at(rows_.u, k);
      sum.add(hn::Sub(x, first));
      put(rows_.values, k, sum.value_from(first, u));
      if (k + 1 == rows_.n) break;
      const M is_fixed = at(rows_.fixed, k);
      x = at(rows_.x, k + 1);
      first = hn::IfThenElse(is_fixed, x, first);
      longest = hn::Max(longest, sum.length);
      sum.start(is_fixed, u);
    }
    return hn::GetLane(hn::MaxOfLanes(d, hn::Max(longest, sum.length)));
  }

  /// Copies the value at the last sample of each segment to all its samples.
  HWY_INLINE void spread() noexcept {
    V value = at(rows_.values, rows_.n - 1);
    for (std::int32_t k = rows_.n - 2; k >= 0; --k) {
      value = hn::IfThenElse(at(rows_.fixed, k), at(rows_.values, k), value);
      put(rows_.values, k, value);
    }
  }

  /// Sums long segments again, around their values, which makes them accurate to the last digits.
  HWY_INLINE void sum_again() noexcept {
    const D d;
    const V refined_length = hn::Set(d, kRefinedLength);
    Sum sum(d);
    for (std::int32_t k = 0;; ++k) {
      const V u = at(rows_.u, k);
      const V value = at(rows_.values, k);
      sum.add(hn::Sub(at(rows_.x, k), value));
      const M is_long = hn::Gt(sum.length, refined_length);
      put(rows_.values, k, hn::IfThenElse(is_long, sum.value_from(value, u), value));
      if (k + 1 == rows_.n) return;
      sum.start(at(rows_.fixed, k), u);
    }
  }

  /// Computes the dual from the values at all samples.
  HWY_INLINE void store_dual() noexcept {
    const D d;
    const V unscale = unscaling();
    V sum = hn::Zero(d);  // of the changes since the last jump
    V before = sum;
    V gap = sum;
    V objective = sum;
    for (std::int32_t k = 0;; ++k) {
      const bool is_last = k + 1 == rows_.n;
      const V value = at(rows_.values, k);
      const V change = hn::Sub(at(rows_.x, k), value);
      V here = at(rows_.u, k);
      if (!is_last) {
        const M is_fixed = at(rows_.fixed, k);
        const V lam = lams_.at(k);
        sum = hn::IfThenElse(is_fixed, here, hn::Add(sum, change));
        here = clipped(sum, lam);
        put(rows_.u, k, hn::Mul(here, unscale));
        const V rise = hn::Sub(at(rows_.values, k + 1), value);
        objective = hn::Add(objective, hn::Mul(lam, hn::Abs(rise)));
      }
      const V lost = hn::Sub(change, hn::Sub(here, before));
      gap = hn::Add(gap, half(hn::Mul(lost, lost)));
      objective = hn::Add(objective, half(hn::Mul(change, change)));
      if (is_last) break;
      before = here;
    }
    hn::StoreU(gap, d, rows_.gap);
    hn::StoreU(objective, d, rows_.objective);
  }

  HWY_INLINE M store_y() noexcept {
    const D d;
    const V zero = hn::Zero(d);
    const V unscale = unscaling();
    // Adding -0.0 changes nothing, not even the sign of 0.
    const V given_offset = hn::LoadU(d, rows_.offset);
    const V offset = hn::IfThenElse(hn::Eq(given_offset, zero), hn::Neg(zero), given_offset);
    Words words(rows_);
    M is_wrong = hn::MaskFromVec(zero);
    V value = at(rows_.values, rows_.n - 1);
    for (std::int32_t k = rows_.n - 1;; --k) {
      const V y = rows_.sharp ? sharpened(at(rows_.x, k), value) : value;
      if (k == 0) {
        put(rows_.values, 0, hn::Add(hn::Mul(y, unscale), offset));
        words.add_plain();
        return is_wrong;
      }
      const M is_start = at(rows_.fixed, k - 1);
      const V u = at(rows_.u, k - 1);
      const V value_before = at(rows_.values, k - 1);
      put(rows_.values, k, hn::Add(hn::Mul(y, unscale), offset));
      words.add(k, is_start, hn::Gt(u, zero));
      is_wrong = hn::Or(is_wrong, hn::And(is_start, is_made_up(hn::Sub(value, value_before), u)));
      value = hn::IfThenElse(is_start, value_before, value);
    }
  }

  /// The sum over the segment of a sample, up to it.
  struct Sum {
    HWY_INLINE explicit Sum(D d) noexcept
        : rest(hn::Zero(d)), length(hn::Zero(d)), u_left(hn::Zero(d)) {}

    HWY_INLINE void add(V difference) noexcept {
      rest = hn::Add(rest, difference);
      length = hn::Add(length, hn::Set(D(), 1));
    }
    /// The same as segment_value, if the segment ends with an edge at u.
    HWY_INLINE V value_from(V origin, V u) const noexcept {
      const V sum = hn::Add(rest, hn::Sub(u_left, u));
      const V value = hn::Add(origin, hn::Div(sum, length));
      return hn::IfThenElse(hn::Eq(sum, hn::Zero(D())), origin, value);
    }
    /// Starts again where the edge after the sample, at u, ends the segment.
    HWY_INLINE void start(M is_end, V u) noexcept {
      rest = hn::IfThenZeroElse(is_end, rest);
      length = hn::IfThenZeroElse(is_end, length);
      u_left = hn::IfThenElse(is_end, u, u_left);
    }

    V rest;
    V length;
    V u_left;
  };

  /// Collects the codes of words, from the last sample of rows to the first.
  class Words {
    using DU = hn::RebindToUnsigned<D>;
    using VU = hn::Vec<DU>;

   public:
    HWY_INLINE explicit Words(const NewtonLanes& rows) noexcept
        : words_(rows.words + (partition_words(rows.n) - 1) * kLanes),
          word_(hn::Zero(DU())),
          up_(hn::Set(DU(), std::uint64_t{1} << 2 * ((rows.n - 1) % kCodesPerWord))) {}

    /// Adds sample k: whether it starts a segment, and whether that is lower than the one before.
    HWY_INLINE void add(std::int32_t k, M is_start, M is_down) noexcept {
      const DU d;
      const VU code = hn::IfThenElse(hn::RebindMask(d, is_down), hn::Add(up_, up_), up_);
      word_ = hn::Or(word_, hn::IfThenElseZero(hn::RebindMask(d, is_start), code));
      up_ = hn::ShiftRight<2>(up_);
      if (k % kCodesPerWord != 0) return;
      hn::StoreU(word_, d, words_);
      words_ -= kLanes;
      word_ = hn::Zero(d);
      up_ = hn::Set(d, std::uint64_t{1} << 2 * (kCodesPerWord - 1));
    }
    /// Adds the first sample.
    HWY_INLINE void add_plain() noexcept {
      const DU d;
      const VU plain = hn::Set(d, static_cast<std::uint64_t>(Code::plain));
      hn::StoreU(hn::Or(word_, plain), d, words_);
    }

   private:
    std::uint64_t* words_;
    VU word_;
    VU up_;  // that code, shifted to the next sample
  };

  HWY_INLINE V unscaling() const noexcept {
    return hn::Div(hn::Set(D(), 1), hn::LoadU(D(), rows_.scale));
  }
  /// The same as `mirror`.
  static HWY_INLINE V sharpened(V x, V smooth) noexcept {
    return hn::IfThenElse(hn::Eq(x, smooth), x, hn::Add(x, hn::Sub(x, smooth)));
  }

  NewtonLanes& rows_;
  Lams lams_;
};

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
