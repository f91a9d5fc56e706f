// From codes to segments, from samples to their values, and back to samples.
// Per-target; works along a row, whatever its neighbours are.
#if defined(TAUTLINE_SEGMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTLINE_SEGMENTS_INL_H_
#undef TAUTLINE_SEGMENTS_INL_H_
#else
#define TAUTLINE_SEGMENTS_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/segment_list.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::detail::HWY_NAMESPACE {

/// Loads a vector, or what of it there is.
template <class D>
HWY_INLINE hn::Vec<D> load_before(D d, const hn::TFromD<D>* from, std::int32_t count) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  if (HWY_LIKELY(count >= kLanes)) return hn::LoadU(d, from);
  HWY_ALIGN hn::TFromD<D> lanes[kLanes] = {};
  std::memcpy(lanes, from, static_cast<std::size_t>(count) * sizeof(lanes[0]));
  return hn::Load(d, lanes);
}

/// Stores a vector, or what of it there is room for.
template <class D>
HWY_INLINE void store_before(D d, hn::Vec<D> v, hn::TFromD<D>* to, std::int32_t count) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  if (HWY_LIKELY(count >= kLanes)) return hn::StoreU(v, d, to);
  HWY_ALIGN hn::TFromD<D> lanes[kLanes];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, static_cast<std::size_t>(count) * sizeof(lanes[0]));
}

/// Stores the lanes whose bits are set, one behind the other, and what there is
/// room for behind them.
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

/// The part of an open segment's sum that lies in earlier blocks, in more than
/// T's precision, so that the rounding of a long segment's sum stays that of one
/// block.
template <class T>
class CarriedSum;

template <>
class CarriedSum<float> {
 public:
  HWY_INLINE void start(float value) noexcept { sum_ = static_cast<double>(value); }
  HWY_INLINE void add(float value) noexcept { sum_ += static_cast<double>(value); }
  HWY_INLINE float value() const noexcept { return static_cast<float>(sum_); }

 private:
  double sum_ = 0;
};

template <>
class CarriedSum<double> {
 public:
  HWY_INLINE void start(double value) noexcept {
    sum_ = value;
    error_ = 0;
  }
  HWY_INLINE void add(double value) noexcept {
    const double sum = sum_ + value;
    const double part = sum - sum_;
    error_ += (sum_ - (sum - part)) + (value - part);
    sum_ = sum;
  }
  HWY_INLINE double value() const noexcept { return sum_ + error_; }

 private:
  double sum_ = 0;
  double error_ = 0;
};

/// The codes of N samples, as lanes of 32 bits.
template <class DI>
HWY_INLINE hn::Vec<DI> load_codes(DI di, const Code* codes, std::int32_t count) noexcept {
  const hn::Rebind<std::uint8_t, DI> bytes;
  const auto* from = reinterpret_cast<const std::uint8_t*>(codes);
  return hn::PromoteTo(di, load_before(bytes, from, count));
}

template <class DI>
HWY_INLINE std::uint32_t start_bits(DI di, hn::Vec<DI> codes) noexcept {
  return mask_bits(di, hn::Ne(codes, hn::Zero(di)));
}

/// Lists the segments of n samples and sums x over each, into list.values. The
/// first code is a start; so is codes[n], of what follows.
///
/// Within a block of lanes sums double their reach in each step, as far as no
/// segment starts in between; lanes at a segment's end then hold its sum.
template <class T>
HWY_INLINE void sum_segments(const T* x, const Code* codes, std::int32_t n,
                             SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::Rebind<std::int32_t, decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  constexpr std::uint32_t kAll = (1U << kLanes) - 1;
  constexpr int kReaches = kLanes == 16 ? 4 : kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;
  using Shifts = LaneShifts<hn::ScalableTag<T>, kReaches>;
  CarriedSum<T> carried;
  SegmentStart* next_start = list.starts;
  T* next_value = list.values;
  auto sample = hn::Iota(di, 0);
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const auto code = load_codes(di, codes + i, n - i);
    const auto code_behind = load_codes(di, codes + i + 1, n - i);
    const std::uint32_t starts = start_bits(di, code);
    const std::uint32_t ends = start_bits(di, code_behind);
    const auto start = hn::Or(hn::ShiftLeft<kStartCodeShift>(code), sample);
    store_lanes(di, start, starts, reinterpret_cast<std::int32_t*>(next_start));
    next_start += std::popcount(starts);
    sample = hn::Add(sample, hn::Set(di, kLanes));

    auto sum = load_before(d, x + i, n - i);
    if (ends == 0) {
      carried.add(hn::GetLane(hn::SumOfLanes(d, sum)));
      continue;
    }
    std::uint32_t joined = ~starts & (kAll - 1);  // lanes that go on from the one before
    TAUTLINE_UNROLL for (int r = 0; r < kReaches; ++r) {
      const auto reached = hn::IfThenElseZero(mask_from_bits(d, joined), Shifts::shift(sum, r));
      sum = hn::Add(sum, reached);
      joined &= joined << (1 << r);
    }
    const T open = hn::ExtractLane(hn::IfThenZeroElse(mask_from_bits(d, ends), sum), kLanes - 1);
    // The first segment that ends here may have begun before the block.
    const auto up_to_first_end = mask_from_bits(d, ends ^ (ends - 1));
    sum = hn::Add(sum, hn::IfThenElseZero(up_to_first_end, hn::Set(d, carried.value())));
    store_lanes(d, sum, ends, next_value);
    next_value += std::popcount(ends);
    carried.start(open);
  }
  *next_start = segment_start(n, codes[n]);
  list.count = static_cast<std::int32_t>(next_start - list.starts);
}

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

/// How jumps pull at the segments: all by one lam, or each by that in list.lam.
enum class Borders { number, edges };

/// Adds to the sums what the jumps on both sides pull.
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

/// Turns sums into values. Returns whether every value differs from the one before
/// it in the direction that its start says.
template <Borders kBorders, class T>
HWY_INLINE bool sums_to_values(T lam, const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  const auto first_lane = hn::FirstN(d, 1);
  auto wrong = hn::MaskFromVec(hn::Zero(d));
  // What comes before the first segment is not looked at.
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

/// Adds what the jumps pull, and leaves it at sums.
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

/// lam behind every segment, from lam behind every sample; the one before the
/// first sample too.
template <class T>
HWY_INLINE void list_edge_lam(const T* edge_lam, const SegmentList<T>& list) noexcept {
  const bool jumps_in = jump_sign(start_code(list.starts[0])) != 0;
  list.lam[-1] = jumps_in ? edge_lam[-1] : T{0};
  for (std::int32_t s = 0; s < list.count; ++s) {
    list.lam[s] = edge_lam[start_sample(list.starts[s + 1]) - 1];
  }
}

/// lam behind every segment, from the lam of every row.
template <class T>
HWY_INLINE void list_row_lam(const T* row_lam, std::int32_t row_length,
                             const SegmentList<T>& list) noexcept {
  list.lam[-1] = 0;
  std::int32_t row_end = row_length;
  for (std::int32_t s = 0; s < list.count; ++s) {
    list.lam[s] = *row_lam;
    if (start_sample(list.starts[s + 1]) < row_end) continue;
    row_end += row_length;
    ++row_lam;
  }
}

/// Writes every segment's value to all its samples: store(i, values) gets those
/// from sample i on, vector by vector.
template <class T, class Store>
HWY_INLINE void spread_values(const SegmentList<T>& list, const Code* codes, std::int32_t n,
                              Store store) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int32_t, decltype(d)> di32;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  const T* values = list.values - 1;  // of the segment before the block
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const std::uint32_t starts = start_bits(di32, load_codes(di32, codes + i, n - i));
    const std::uint32_t at_first = starts & 1U;
    const auto which = count_bits_up_to_lane(di, starts, at_first);
    const auto near = hn::LoadU(d, values + at_first);
    store(i, hn::TableLookupLanes(near, hn::IndicesFromVec(d, which)));
    values += std::popcount(starts);
  }
}

}  // namespace tautline::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
