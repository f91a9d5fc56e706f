// From codes to segments, from samples to segment values, and back to samples. Per-target; works
// along a row, independently of its neighbours.
#if defined(TAUTSTRING_SEGMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_SEGMENTS_INL_H_
#undef TAUTSTRING_SEGMENTS_INL_H_
#else
#define TAUTSTRING_SEGMENTS_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/segment_list.h"
#include "cpu/vector/vector_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// Loads a vector, or the first `count` lanes of it.
template <class D>
HWY_INLINE hn::Vec<D> load_before(D d, const hn::TFromD<D>* from, std::int32_t count) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  if (HWY_LIKELY(count >= kLanes)) return hn::LoadU(d, from);
  HWY_ALIGN hn::TFromD<D> lanes[kLanes] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(lanes[0]));
  return hn::Load(d, lanes);
}

/// Stores a vector, or the lanes that there is room for.
template <class D>
HWY_INLINE void store_before(D d, hn::Vec<D> v, hn::TFromD<D>* to, std::int32_t count) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  if (HWY_LIKELY(count >= kLanes)) return hn::StoreU(v, d, to);
  HWY_ALIGN hn::TFromD<D> lanes[kLanes];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(lanes[0]));
}

/// Stores the lanes whose bits are set, contiguously; the rest of the vector is written after them.
template <class D>
HWY_INLINE void store_lanes(D d, hn::Vec<D> v, std::uint32_t bits, hn::TFromD<D>* to) noexcept {
  hn::StoreU(compress_lanes(d, v, bits), d, to);
}

/// A mask from the low bits of a number.
template <class D>
HWY_INLINE hn::Mask<D> mask_from_bits(D d, std::uint32_t bits) noexcept {
  const std::uint64_t bytes = bits;
  return hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bytes));
}

/// A sum in more than double precision.
class CompensatedSum {
 public:
  HWY_INLINE void add(double value) noexcept {
    const double sum = sum_ + value;
    const double part = sum - sum_;
    error_ += (sum_ - (sum - part)) + (value - part);
    sum_ = sum;
  }
  [[nodiscard]] HWY_INLINE double value() const noexcept { return sum_ + error_; }

 private:
  double sum_ = 0;
  double error_ = 0;
};

/// The sum of whole blocks of a segment, in more than T's precision.
template <class T>
class BlockSum;

template <>
class BlockSum<float> {
  using D = hn::ScalableTag<float>;
  using Half = hn::Half<D>;
  using Wide = hn::RepartitionToWide<D>;

 public:
  HWY_INLINE BlockSum() noexcept : low_(hn::Zero(Wide())), high_(hn::Zero(Wide())) {}
  HWY_INLINE void add(hn::Vec<D> v) noexcept {
    low_ = hn::Add(low_, hn::PromoteTo(Wide(), hn::LowerHalf(Half(), v)));
    high_ = hn::Add(high_, hn::PromoteTo(Wide(), hn::UpperHalf(Half(), v)));
  }
  HWY_INLINE float plus(float value) const noexcept {
    const Wide d;
    return static_cast<float>(hn::GetLane(hn::SumOfLanes(d, hn::Add(low_, high_))) +
                              static_cast<double>(value));
  }

 private:
  hn::Vec<Wide> low_;
  hn::Vec<Wide> high_;
};

template <>
class BlockSum<double> {
  using D = hn::ScalableTag<double>;

 public:
  HWY_INLINE void add(hn::Vec<D> v) noexcept { sum_.add(hn::GetLane(hn::SumOfLanes(D(), v))); }
  HWY_INLINE double plus(double value) const noexcept {
    CompensatedSum sum = sum_;
    sum.add(value);
    return sum.value();
  }

 private:
  CompensatedSum sum_;
};

/// The last lane of v in all lanes.
template <class D>
HWY_INLINE hn::Vec<D> broadcast_last(D d, hn::Vec<D> v) noexcept {
  const hn::RebindToSigned<D> di;
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, hn::Set(di, hn::MaxLanes(d) - 1)));
}
template <class D>
HWY_INLINE hn::Vec<D> broadcast_first(D d, hn::Vec<D> v) noexcept {
  return hn::Set(d, hn::GetLane(v));
}

/// Bits of the samples that start a segment, for as many codes as D has lanes.
template <class D>
HWY_INLINE std::uint32_t start_bits(D d, const Code* codes, std::int32_t count) noexcept {
  (void)d;
  const hn::Rebind<std::uint8_t, D> bytes;
  const auto* from = reinterpret_cast<const std::uint8_t*>(codes);
  return mask_bits(bytes, hn::Ne(load_before(bytes, from, count), hn::Zero(bytes)));
}

/// The lam of the jumps at a segment's borders: one for all, one per row, or one per edge.
enum class Borders { number, rows, edges };

/// Lists the segments of n samples: where they start, the sums of x over each (in list.values), and
/// lam after each (in list.lam) if it is not one number. The first code is a start, and so is
/// codes[n].
///
/// Within a block of lanes, sums double their reach in each step as long as no segment starts in
/// between; lanes at the end of a segment then have its sum. A segment that is open at the end of a
/// block is continued in the next one.
template <Borders kBorders, class T>
class SegmentLister {
  using D = hn::ScalableTag<T>;
  using DI = hn::Rebind<std::int32_t, D>;
  using V = hn::Vec<D>;
  static constexpr D d{};
  static constexpr DI di{};
  static constexpr std::int32_t kLanes = hn::MaxLanes(D());
  static constexpr std::uint32_t kAll = (1U << kLanes) - 1;
  static constexpr int kReaches = kLanes == 16 ? 4 : kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;

 public:
  HWY_INLINE SegmentLister(const SolvedStretch<T>& stretch, SegmentList<T>& list) noexcept
      : stretch_(stretch), list_(list) {}

  HWY_INLINE void run() noexcept {
    list_.lam[-1] = 0;
    if (kBorders == Borders::edges && jump_sign(stretch_.codes[0]) != 0) {
      list_.lam[-1] = stretch_.edge_lam[-1];
    }
    std::int32_t i = 0;
    while (i < stretch_.n) {
      list_starts(i);
      const std::uint32_t ends = start_bits(d, stretch_.codes + i + 1, stretch_.n - i);
      if (HWY_UNLIKELY(ends == 0)) {
        i = sum_whole_blocks(i);
        continue;
      }
      sum_block(i, ends);
      i += kLanes;
    }
    list_.starts[count_] = segment_start(stretch_.n, stretch_.codes[stretch_.n]);
    list_.count = count_;
  }

 private:
  HWY_INLINE void list_starts(std::int32_t i) noexcept {
    const hn::Rebind<std::uint8_t, D> bytes;
    const auto* from = reinterpret_cast<const std::uint8_t*>(stretch_.codes + i);
    const auto code = load_before(bytes, from, stretch_.n - i);
    starts_ = mask_bits(bytes, hn::Ne(code, hn::Zero(bytes)));
    const auto start = hn::Or(hn::ShiftLeft<kStartCodeShift>(hn::PromoteTo(di, code)),
                              hn::Add(hn::Iota(di, 0), hn::Set(di, i)));
    store_lanes(di, start, starts_, reinterpret_cast<std::int32_t*>(list_.starts + count_));
    count_ += std::popcount(starts_);
  }

  HWY_INLINE void sum_block(std::int32_t i, std::uint32_t ends) noexcept {
    V sum = load_before(d, stretch_.x + i, stretch_.n - i);
    std::uint32_t joined = ~starts_ & (kAll - 1);  // lanes that continue the one before
    lengthen_sums(0, sum, joined);
    // With many lanes some are joined further, unless nearly all segments are shorter.
    if (kLanes < 16 || joined != 0) {
      TAUTSTRING_UNROLL_ALL for (int r = 1; r < kReaches; ++r) lengthen_sums(r, sum, joined);
    }
    const V open = hn::IfThenZeroElse(mask_from_bits(d, ends), sum);
    // The first segment that ends here may have begun before the block.
    const auto up_to_first_end = mask_from_bits(d, ends ^ (ends - 1));
    sum = hn::Add(sum, hn::IfThenElseZero(up_to_first_end, open_));
    store_lanes(d, sum, ends, list_.values + ended_);
    if constexpr (kBorders == Borders::edges) {
      const V lam = load_before(d, stretch_.edge_lam + i, stretch_.n - i);
      store_lanes(d, lam, ends, list_.lam + ended_);
    } else if constexpr (kBorders == Borders::rows) {
      hn::StoreU(hn::Set(d, stretch_.row_lam[i / stretch_.row_length]), d, list_.lam + ended_);
    }
    ended_ += std::popcount(ends);
    open_ = broadcast_last(d, open);
  }

  /// Adds to each lane that is joined with the one 2^reach before it the sum of that lane.
  static HWY_INLINE void lengthen_sums(int reach, V& sum, std::uint32_t& joined) noexcept {
    const V before = LaneShifts<D, kReaches>::shift(sum, reach);
    sum = hn::Add(sum, hn::IfThenElseZero(mask_from_bits(d, joined), before));
    joined &= joined << (1 << reach);
  }

  /// Sums blocks within one segment, the start of which has been listed; returns where the next
  /// block begins.
  HWY_INLINE std::int32_t sum_whole_blocks(std::int32_t i) noexcept {
    BlockSum<T> sum;
    const T open = starts_ == 0 ? hn::GetLane(open_) : T{0};
    do {
      sum.add(hn::LoadU(d, stretch_.x + i));
      i += kLanes;
      // After a sample that is no end there is no start.
    } while (start_bits(d, stretch_.codes + i + 1, stretch_.n - i) == 0);
    open_ = hn::Set(d, sum.plus(open));
    return i;
  }

  const SolvedStretch<T>& stretch_;
  SegmentList<T>& list_;
  std::int32_t count_ = 0;    // segments that have started
  std::int32_t ended_ = 0;    // and ended
  std::uint32_t starts_ = 0;  // of the block
  V open_ = hn::Zero(d);      // the sum, so far, of the segment that continues
};

/// The first samples of the segments at `starts`, in lanes as wide as DI's.
template <class DI>
HWY_INLINE hn::Vec<DI> load_starts(DI di, const SegmentStart* starts) noexcept {
  (void)di;
  return load_indices<DI>(reinterpret_cast<const std::int32_t*>(starts));
}
template <class DI>
HWY_INLINE hn::Vec<DI> samples_of(DI di, hn::Vec<DI> starts) noexcept {
  return hn::And(starts, hn::Set(di, (1 << kStartCodeShift) - 1));
}
/// The direction of the jump at a start: +1, -1 or 0.
template <class DI>
HWY_INLINE hn::Vec<DI> signs_of(DI di, hn::Vec<DI> starts) noexcept {
  const auto one = hn::Set(di, 1);
  return hn::Sub(hn::And(hn::ShiftRight<kStartCodeShift>(starts), one),
                 hn::And(hn::ShiftRight<kStartCodeShift + 1>(starts), one));
}

/// Adds the terms of the jumps on both sides to the sums.
template <Borders kBorders, class D, class DI>
HWY_INLINE hn::Vec<D> add_borders(D d, DI di, hn::Vec<D> sum, hn::Vec<DI> start, hn::Vec<DI> next,
                                  hn::TFromD<D> lam, const hn::TFromD<D>* lam_behind) noexcept {
  if constexpr (kBorders == Borders::number) {
    const auto pull = hn::Sub(signs_of(di, next), signs_of(di, start));
    return hn::Add(sum, hn::Mul(hn::ConvertTo(d, pull), hn::Set(d, lam)));
  } else {
    const auto right = hn::Mul(hn::ConvertTo(d, signs_of(di, next)), hn::LoadU(d, lam_behind));
    const auto left = hn::Mul(hn::ConvertTo(d, signs_of(di, start)), hn::LoadU(d, lam_behind - 1));
    return hn::Add(sum, hn::Sub(right, left));
  }
}

/// Turns sums into values. Returns whether every value differs from the one before it in the
/// direction of its code.
template <Borders kBorders, class T>
HWY_INLINE bool sums_to_values(T lam, const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  const auto first_lane = hn::FirstN(d, 1);
  auto wrong = hn::MaskFromVec(hn::Zero(d));
  // What comes before the first segment does not matter.
  const int first_sign = jump_sign(start_code(list.starts[0]));
  T before = first_sign > 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
  for (std::int32_t s = 0; s < list.count; s += kLanes) {
    const auto start = load_starts(di, list.starts + s);
    const auto next = load_starts(di, list.starts + s + 1);
    const auto sum = hn::LoadU(d, list.values + s);
    const auto length = hn::ConvertTo(d, hn::Sub(samples_of(di, next), samples_of(di, start)));
    const auto value =
        hn::Div(add_borders<kBorders>(d, di, sum, start, next, lam, list.lam + s), length);
    hn::StoreU(value, d, list.values + s);

    const auto left =
        hn::IfThenElse(first_lane, hn::Set(d, before), LaneShifts<decltype(d), 1>::shift(value, 0));
    const auto sign = hn::ConvertTo(d, signs_of(di, start));
    auto here = hn::Le(hn::Mul(hn::Sub(value, left), sign), hn::Zero(d));
    here = hn::And(here, hn::Ne(sign, hn::Zero(d)));
    if (HWY_UNLIKELY(s + kLanes > list.count)) {
      here = hn::And(here, hn::FirstN(d, static_cast<std::size_t>(list.count - s)));
    }
    wrong = hn::Or(wrong, here);
    before = hn::ExtractLane(value, kLanes - 1);
  }
  return hn::AllFalse(d, wrong);
}

/// Adds the terms of the jumps to the sums, without dividing.
template <Borders kBorders, class T>
HWY_INLINE void sums_with_borders(T lam, const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  for (std::int32_t s = 0; s < list.count; s += kLanes) {
    const auto start = load_starts(di, list.starts + s);
    const auto next = load_starts(di, list.starts + s + 1);
    const auto sum = hn::LoadU(d, list.values + s);
    hn::StoreU(add_borders<kBorders>(d, di, sum, start, next, lam, list.lam + s), d,
               list.values + s);
  }
}

/// Writes the value of every segment to all its samples: store(i, values) receives those from
/// sample i on, vector by vector.
template <class T, class Store>
HWY_INLINE void spread_values(const SegmentList<T>& list, const Code* codes, std::int32_t n,
                              Store store) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  const T* values = list.values - 1;  // of the segment before the block
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const std::uint32_t starts = start_bits(d, codes + i, n - i);
    const std::uint32_t at_first = starts & 1U;
    const auto which = count_bits_up_to_lane(di, starts, at_first);
    const auto near = hn::LoadU(d, values + at_first);
    store(i, hn::TableLookupLanes(near, hn::IndicesFromVec(d, which)));
    values += std::popcount(starts);
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
