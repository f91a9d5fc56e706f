// Repairs partitions (step/line_repair.h) of many lines at once, one line per lane. Per-target.
//
// No round has a branch per sample or line. A line depends on no other line: a solved one stays as
// it is while others are repaired.
#if defined(TAUTSTRING_LINE_REPAIR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_LINE_REPAIR_INL_H_
#undef TAUTSTRING_LINE_REPAIR_INL_H_
#else
#define TAUTSTRING_LINE_REPAIR_INL_H_
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/line_pass.h"
#include "cpu/vector/line_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

template <class T>
class LineRepair : LaneWords<T> {
  using Words = LaneWords<T>;
  using typename Words::D;
  using typename Words::M;
  using typename Words::TU;
  using typename Words::VU;
  using Words::d;
  using Words::du;
  using Words::has;
  using Words::kLanes;
  using Words::or_where;
  using V = hn::Vec<D>;

 public:
  /// x and y: sample k of lane l is at k * kLanes + l. starts and ups: word w likewise.
  HWY_INLINE LineRepair(std::int32_t n, const T* x, T* y, const T* lams, std::uint32_t* starts,
                        std::uint32_t* ups) noexcept
      : n_(n), x_(x), y_(y), lam_(hn::LoadU(d, lams)), starts_(starts), ups_(ups) {}

  /// The partition to start from without one: jumps at large differences.
  HWY_INLINE void guess() noexcept {
    const V large = hn::Mul(lam_, hn::Set(d, static_cast<T>(kGuessedJump)));
    V before = hn::Load(d, x_);
    for (std::int32_t word = 0; word < line_words(n_); ++word) {
      const std::int32_t first = word * kSamplesPerWord;
      VU starts = hn::Set(du, TU{word == 0});
      VU ups = hn::Zero(du);
      VU bit = hn::Set(du, TU{1});
      for (std::int32_t k = first; k < std::min(first + kSamplesPerWord, n_); ++k) {
        const V x = hn::Load(d, x_ + k * kLanes);
        const V rise = hn::Sub(x, before);
        starts = or_where(hn::Gt(hn::Abs(rise), large), bit, starts);
        ups = or_where(hn::Gt(rise, large), bit, ups);
        before = x;
        bit = hn::Add(bit, bit);
      }
      Words::store(starts, starts_, word);
      Words::store(ups, ups_, word);
    }
  }

  /// Returns the lanes that are not solved.
  HWY_INLINE std::uint32_t solve() noexcept {
    V largest = hn::Zero(d);
    for (std::int32_t k = 0; k < n_; ++k) {
      largest = hn::Max(largest, hn::Abs(hn::Load(d, x_ + k * kLanes)));
    }
    V slack = hn::Mul(hn::Set(d, 2 * std::numeric_limits<T>::epsilon()), hn::Add(lam_, largest));
    VU changed = hn::Zero(du);
    for (int round = 0; round < kRepairRounds; ++round) {
      take_means();
      if (round >= kRoundsBeforeSlack) slack = hn::Add(slack, slack);
      changed = check(hn::Add(lam_, slack));
      if (HWY_LIKELY(hn::AllTrue(du, hn::Eq(changed, hn::Zero(du))))) return 0;
    }
    return mask_bits(d, hn::RebindMask(d, hn::Ne(changed, hn::Zero(du))));
  }

 private:
  HWY_INLINE V signed_lam(VU ups, VU bit) const noexcept {
    return hn::IfThenElse(has(ups, bit), lam_, hn::Neg(lam_));
  }

  /// Stores the value of each segment at its last sample; what it stores elsewhere is not used.
  HWY_INLINE void take_means() noexcept {
    const V one = hn::Set(d, T{1});
    V first = hn::Zero(d);  // sample of the segment: sums of differences from it are accurate
    V left = hn::Zero(d);   // the dual variable before the segment
    V sum = hn::Zero(d);
    V length = hn::Zero(d);
    V dual = hn::Zero(d);  // before the sample, if it starts a segment
    M start = hn::MaskFromVec(hn::Zero(d));
    for (std::int32_t word = 0; word < line_words(n_); ++word) {
      const std::int32_t begin = word * kSamplesPerWord;
      const std::int32_t end = std::min(begin + kSamplesPerWord, n_);
      const VU starts = Words::load(starts_, word);
      const VU ups = Words::load(ups_, word);
      VU bit = hn::Set(du, TU{1});
      if (word == 0) start = has(starts, bit);
      for (std::int32_t k = begin; k < end; ++k) {
        const V x = hn::Load(d, x_ + k * kLanes);
        first = hn::IfThenElse(start, x, first);
        left = hn::IfThenElse(start, dual, left);
        sum = add_or_start(d, start, sum, hn::Sub(x, first));
        length = add_or_start(d, start, length, one);
        bit = hn::Add(bit, bit);
        if (k + 1 < end) {
          start = has(starts, bit);
          dual = signed_lam(ups, bit);
        } else if (end < n_) {
          start = has(Words::load(starts_, word + 1), hn::Set(du, TU{1}));
          dual = signed_lam(Words::load(ups_, word + 1), hn::Set(du, TU{1}));
        } else {
          dual = hn::Zero(d);
        }
        const V mean = hn::Div(hn::Add(sum, hn::Sub(dual, left)), length);
        hn::Store(hn::Add(first, mean), d, y_ + k * kLanes);
      }
    }
  }

  /// Spreads the values over their segments, checks them and repairs the partition. Returns what it
  /// changed.
  HWY_INLINE VU check(V most) noexcept {
    V value = hn::Zero(d);
    V behind = hn::Zero(d);  // the dual variable after the sample, if it ends a segment
    V dual = hn::Zero(d);
    V largest = most;  // dual variable in the segment, so far
    VU changed = hn::Zero(du);
    M end = hn::Eq(value, value);
    Pending pending = {changed, changed, changed};
    for (std::int32_t word = line_words(n_) - 1; word >= 0; --word) {
      const std::int32_t begin = word * kSamplesPerWord;
      const std::int32_t last = std::min(begin + kSamplesPerWord, n_) - 1;
      const VU starts = Words::load(starts_, word);
      const VU ups = Words::load(ups_, word);
      VU bit = hn::Set(du, static_cast<TU>(TU{1} << (last - begin)));
      VU split = hn::Zero(du);  // the bit where the segment is to be split, if in this word
      VU added = hn::Zero(du);
      VU above = hn::Zero(du);  // by sample: whether the dual variable before it is positive,
      VU rises = hn::Zero(du);  // and which way a jump at it would go
      VU falls = hn::Zero(du);
      V y = hn::Load(d, y_ + last * kLanes);
      for (std::int32_t k = last; k >= begin; --k) {
        value = hn::IfThenElse(end, y, value);
        dual = hn::IfThenElse(end, behind, dual);
        hn::Store(value, d, y_ + k * kLanes);
        dual = hn::Sub(dual, hn::Sub(value, hn::Load(d, x_ + k * kLanes)));
        const M start = has(starts, bit);
        behind = signed_lam(ups, bit);
        y = hn::Load(d, y_ + (k - 1) * kLanes);  // before the first one: the end of x, not used
        const V size = hn::Abs(dual);
        const M worse = Within<D>{hn::Not(start)}.gt(size, largest);
        largest = hn::IfThenElse(start, most, hn::Max(largest, size));
        split = hn::IfThenElse(hn::RebindMask(du, worse), bit, split);
        above = or_where(hn::Gt(dual, hn::Zero(d)), bit, above);
        rises = or_where(hn::Gt(value, y), bit, rises);
        falls = or_where(hn::Lt(value, y), bit, falls);
        added = or_where(start, split, added);
        split = hn::IfThenZeroElse(hn::RebindMask(du, start), split);
        end = start;
        bit = hn::ShiftRight<1>(bit);
      }
      const VU right = hn::Or(hn::And(ups, rises), hn::AndNot(ups, falls));
      VU removed = hn::AndNot(right, starts);
      if (word == 0) removed = hn::AndNot(hn::Set(du, TU{1}), removed);
      Words::store(hn::Or(hn::AndNot(removed, starts), added), starts_, word);
      Words::store(hn::Or(hn::AndNot(added, ups), hn::And(added, above)), ups_, word);
      changed = hn::Or(changed, hn::Or(removed, added));
      if (line_words(n_) > 1) {
        changed = hn::Or(changed, end_word(word, starts, added, split, above, pending));
      }
    }
    return changed;
  }

  /// Splits of segments that began in an earlier word than the one that they are in: known once the
  /// start of the segment is.
  struct Pending {
    VU split;
    VU word;
    VU ups;
  };

  /// After all samples of a word: splits the segments that ended in a later word if they began in
  /// this one, and notes where those that began before it are to be split. Returns what it changed.
  HWY_INLINE VU end_word(std::int32_t word, VU starts, VU added, VU split, VU above,
                         Pending& pending) noexcept {
    const VU zero = hn::Zero(du);
    const auto has_start = hn::Ne(starts, zero);
    const VU ended = hn::IfThenElseZero(has_start, pending.split);
    VU changed = zero;
    if (HWY_UNLIKELY(!hn::AllTrue(du, hn::Eq(ended, zero)))) {
      changed = split_in_later_words(ended, starts, added, pending);
    }
    const auto is_new = hn::Ne(split, zero);
    pending.split = hn::IfThenElse(is_new, split, hn::IfThenZeroElse(has_start, pending.split));
    pending.word = hn::IfThenElse(is_new, hn::Set(du, static_cast<TU>(word)), pending.word);
    pending.ups = hn::IfThenElse(is_new, hn::And(split, above), pending.ups);
    return changed;
  }

  HWY_NOINLINE VU split_in_later_words(VU ended, VU starts, VU added,
                                       const Pending& pending) noexcept {
    struct alignas(64) Lanes {
      TU of[kLanes];
    };
    Lanes split, start, add, in_word, up, changed;
    hn::Store(ended, du, split.of);
    hn::Store(starts, du, start.of);
    hn::Store(added, du, add.of);
    hn::Store(pending.word, du, in_word.of);
    hn::Store(pending.ups, du, up.of);
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      changed.of[lane] = 0;
      if (split.of[lane] == 0) continue;
      // Unless there is more excess in this word, where it has been split then.
      if (add.of[lane] > start.of[lane]) continue;
      const auto bit = static_cast<std::uint32_t>(split.of[lane]);
      const auto at = static_cast<std::int64_t>(in_word.of[lane]) * kLanes + lane;
      starts_[at] |= bit;
      ups_[at] = (ups_[at] & ~bit) | static_cast<std::uint32_t>(up.of[lane]);
      changed.of[lane] = bit;
    }
    return hn::Load(du, changed.of);
  }

  const std::int32_t n_;
  const T* x_;
  T* y_;
  const V lam_;
  std::uint32_t* starts_;
  std::uint32_t* ups_;
};

/// store_solution for vectors.
template <class T>
struct SolutionStore {
  template <class D>
  HWY_INLINE void operator()(D d, std::int64_t at, hn::Vec<D> solution) const noexcept {
    if (pass.x != nullptr) {
      const auto q = hn::Sub(hn::LoadU(d, pass.in + at), solution);
      hn::StoreU(q, d, pass.next_q + at);
      hn::StoreU(hn::Sub(hn::LoadU(d, pass.x + at), q), d, pass.out + at);
    } else if (pass.added != nullptr) {
      hn::StoreU(hn::Add(solution, hn::LoadU(d, pass.added + at)), d, pass.out + at);
    } else {
      hn::StoreU(solution, d, pass.out + at);
    }
  }
  const LinePass<T>& pass;
};

/// Solves groups [first, last) of the lines.
template <class T>
void repair_lines(const LinePass<T>& pass, std::int64_t first, std::int64_t last) noexcept {
  constexpr std::int32_t kLanes = LineTiles<T>::kLanes;
  const std::int32_t n = pass.shape.n;
  const std::int64_t per_group = std::int64_t{line_words(n)} * kLanes;
  T* x = pass.tile;
  T* y = pass.tile + std::int64_t{n} * kLanes;
  const SolutionStore<T> store = {pass};
  const auto store_one = [&pass](std::int64_t at, T solution) {
    store_solution(pass, at, solution);
  };
  for (std::int64_t group = first; group < last; ++group) {
    const LineTiles<T> tiles(pass.shape, group);
    tiles.load(pass.in, x);
    std::uint32_t* starts = pass.partitions.starts + group * per_group;
    std::uint32_t* ups = pass.partitions.ups + group * per_group;
    LineRepair<T> repair(n, x, y, pass.lams + group * kLanes, starts, ups);
    if (pass.is_first) repair.guess();
    const std::uint32_t left = repair.solve();
    pass.unsolved[group] = left;
    if (HWY_LIKELY(left == 0)) {
      tiles.store(y, store, store_one);
    } else {
      tiles.store_without(left, y, store_one);
    }
    if (pass.codes == nullptr) continue;
    const std::int64_t words = partition_words(n);
    store_codes_of_lanes<T>(starts, ups, tiles.count(), words, pass.codes + tiles.first() * words);
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
