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

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/segment_list.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautline::detail::HWY_NAMESPACE {

/// Lists the segments of n codes, of which the first is a start, and marks their
/// starts as bits. `after` is the code that follows. Codes are readable for a
/// vector behind the last.
template <class T>
HWY_INLINE void list_segments(const Code* codes, std::int32_t n, Code after,
                              SegmentList<T>& list) noexcept {
  const hn::ScalableTag<std::int32_t> di;
  const hn::Rebind<std::uint8_t, decltype(di)> du8;
  constexpr std::int32_t kLanes = hn::MaxLanes(di);
  std::int32_t count = 0;
  std::uint32_t pending = 0;  // bits of an incomplete byte, where a vector has less than 8 lanes
  auto sample = hn::Iota(di, 0);
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const auto bytes = hn::LoadU(du8, reinterpret_cast<const std::uint8_t*>(codes + i));
    const auto code = hn::PromoteTo(di, bytes);
    auto is_start = hn::Ne(code, hn::Zero(di));
    if (HWY_UNLIKELY(i + kLanes > n)) {
      is_start = hn::And(is_start, hn::Lt(sample, hn::Set(di, n)));
    }
    const auto start = hn::Or(hn::ShiftLeft<kStartCodeShift>(code), sample);
    const std::uint32_t bits = mask_bits(di, is_start);
    hn::StoreU(compress_lanes(di, start, bits), di,
               reinterpret_cast<std::int32_t*>(list.starts + count));
    count += std::popcount(bits);
    if constexpr (kLanes >= 8) {
      std::memcpy(list.start_bits + i / 8, &bits, kLanes / 8);
    } else {
      pending |= bits << (i % 8);
      list.start_bits[i / 8] = static_cast<std::uint8_t>(pending);
      if ((i + kLanes) % 8 == 0) pending = 0;
    }
    sample = hn::Add(sample, hn::Set(di, kLanes));
  }
  // What follows the last sample starts something new.
  const std::uint64_t behind = ~std::uint64_t{0} << (n % 8);
  std::uint64_t bits = list.start_bits[n / 8] & ~behind;
  if (n % 8 == 0) bits = 0;
  bits |= behind;
  std::memcpy(list.start_bits + n / 8, &bits, sizeof(bits));
  list.starts[count] = segment_start(n, after);
  list.count = count;
}

/// The bits of the block of lanes at sample i and those that follow.
HWY_INLINE std::uint32_t bits_at(const std::uint8_t* bits, std::int32_t i) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, bits + i / 8, sizeof(word));
  return word >> (i % 8);  // 0 where a vector has 8 lanes or more
}

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

/// The sum of x over every segment, into list.values.
///
/// Within a block of lanes sums double their reach in each step, as far as no
/// segment starts in between; lanes at a segment's end then hold its sum.
template <class T>
HWY_INLINE void sum_segments(const T* x, std::int32_t n, const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  constexpr std::uint32_t kAll = (1U << kLanes) - 1;
  constexpr int kReaches = kLanes == 16 ? 4 : kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;
  using Shifts = LaneShifts<hn::ScalableTag<T>, kReaches>;
  CarriedSum<T> carried;
  T* values = list.values;
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const std::uint32_t bits = bits_at(list.start_bits, i);
    const std::uint32_t ends = bits >> 1 & kAll;
    auto sum = load_before(d, x + i, n - i);
    if (ends == 0) {
      carried.add(hn::GetLane(hn::SumOfLanes(d, sum)));
      continue;
    }
    std::uint32_t joined = ~bits & (kAll - 1);  // lanes that go on from the one before
    TAUTLINE_UNROLL for (int r = 0; r < kReaches; ++r) {
      const auto reached = hn::IfThenElseZero(mask_from_bits(d, joined), Shifts::shift(sum, r));
      sum = hn::Add(sum, reached);
      joined &= joined << (1 << r);
    }
    const T open = hn::ExtractLane(hn::IfThenZeroElse(mask_from_bits(d, ends), sum), kLanes - 1);
    // The first segment that ends here may have begun before the block.
    const auto up_to_first_end = mask_from_bits(d, ends ^ (ends - 1));
    sum = hn::Add(sum, hn::IfThenElseZero(up_to_first_end, hn::Set(d, carried.value())));
    hn::StoreU(compress_lanes(d, sum, ends), d, values);
    values += std::popcount(ends);
    carried.start(open);
  }
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

/// How jumps pull at the segments: not at all, by one lam, or by list.lam.
enum class Borders { none, number, edges };

/// Adds to the sums what the jumps on both sides pull, and divides by the lengths.
template <Borders kBorders, bool kDivide = true, class T>
HWY_INLINE void sums_to_values(T lam, const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  for (std::int32_t s = 0; s < list.count; s += kLanes) {
    const auto start = load_starts(di, list.starts + s);
    const auto next = load_starts(di, list.starts + s + 1);
    auto value = hn::LoadU(d, list.values + s);
    if constexpr (kBorders == Borders::number) {
      const auto pull = hn::Sub(signs_of(di, next), signs_of(di, start));
      value = hn::Add(value, hn::Mul(hn::ConvertTo(d, pull), hn::Set(d, lam)));
    } else if constexpr (kBorders == Borders::edges) {
      const auto right = hn::ConvertTo(d, signs_of(di, next));
      const auto left = hn::ConvertTo(d, signs_of(di, start));
      value = hn::Add(value, hn::Sub(hn::Mul(right, hn::LoadU(d, list.lam + s)),
                                     hn::Mul(left, hn::LoadU(d, list.lam + s - 1))));
    }
    if constexpr (kDivide) {
      const auto length = hn::Sub(samples_of(di, next), samples_of(di, start));
      value = hn::Div(value, hn::ConvertTo(d, length));
    }
    hn::StoreU(value, d, list.values + s);
  }
}

/// Whether every value differs from the one before it in the direction that its
/// start says. What comes before the first is not looked at.
template <class T>
HWY_INLINE bool jumps_are_real(const SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  auto wrong = hn::MaskFromVec(hn::Zero(d));
  for (std::int32_t s = 1; s < list.count; s += kLanes) {
    const auto sign = hn::ConvertTo(d, signs_of(di, load_starts(di, list.starts + s)));
    const auto jump = hn::Sub(hn::LoadU(d, list.values + s), hn::LoadU(d, list.values + s - 1));
    auto here = hn::And(hn::Ne(sign, hn::Zero(d)), hn::Le(hn::Mul(jump, sign), hn::Zero(d)));
    if (HWY_UNLIKELY(s + kLanes > list.count)) {
      here = hn::And(here, hn::FirstN(d, static_cast<std::size_t>(list.count - s)));
    }
    wrong = hn::Or(wrong, here);
  }
  return hn::AllFalse(d, wrong);
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
HWY_INLINE void spread_values(const SegmentList<T>& list, std::int32_t n, Store store) noexcept {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  constexpr std::uint32_t kAll = (1U << kLanes) - 1;
  const T* values = list.values - 1;  // of the segment before the block
  for (std::int32_t i = 0; i < n; i += kLanes) {
    const std::uint32_t starts = bits_at(list.start_bits, i) & kAll;
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
