// One row from its codes to its result. Per-target.
#if defined(TAUTSTRING_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_ROWS_INL_H_
#undef TAUTSTRING_ROWS_INL_H_
#else
#define TAUTSTRING_ROWS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/vector/segments-inl.h"
#include "cpu/vector/vector_kernels.h"
#include "hwy/highway.h"
#include "step/row/row_io.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

template <Borders kBorders, class T>
HWY_NOINLINE void list_segments(const SolvedStretch<T>& row, SegmentList<T>& list) noexcept {
  SegmentLister<kBorders, T>(row, list).run();
}

template <Borders kBorders, class T>
HWY_INLINE void find_values(const SolvedStretch<T>& row, SegmentList<T>& list) noexcept {
  list_segments<kBorders>(row, list);
  if (HWY_LIKELY(sums_to_values<kBorders>(row.lam, list))) return;
  list_segments<kBorders>(row, list);
  sums_with_borders<kBorders>(row.lam, list);
  join_segments(list, row.codes);
}

template <class T>
void finish(const SolvedStretch<T>& row, SegmentList<T>& list) noexcept {
  const hn::ScalableTag<T> d;
  if (row.edge_lam != nullptr) {
    find_values<Borders::edges>(row, list);
  } else if (row.row_lam != nullptr) {
    find_values<Borders::rows>(row, list);
  } else {
    find_values<Borders::number>(row, list);
  }
  const auto offset = hn::Set(d, row.offset);
  if (row.sharp) {
    spread_values(
        list, row.codes, row.n, [&](std::int32_t i, hn::Vec<decltype(d)> smooth) HWY_ATTR {
          const auto x = load_before(d, row.x + i, row.n - i);
          const auto y = hn::IfThenElse(hn::Eq(x, smooth), x, hn::Add(x, hn::Sub(x, smooth)));
          store_before(d, hn::Add(y, offset), row.y + i, row.n - i);
        });
  } else {
    spread_values(list, row.codes, row.n,
                  [&](std::int32_t i, hn::Vec<decltype(d)> smooth)
                      HWY_ATTR { store_before(d, hn::Add(smooth, offset), row.y + i, row.n - i); });
  }
}

inline void pack(const Code* codes, std::int64_t n, std::uint32_t* words) noexcept {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint16_t, decltype(d)> pairs;
  const hn::Repartition<std::uint32_t, decltype(d)> fours;
  const hn::Rebind<std::uint8_t, decltype(fours)> packed;
  constexpr std::int64_t kCodes = hn::MaxLanes(d);
  static_assert(kCodes % kCodesPerWord == 0);
  for (; n >= kCodes; n -= kCodes) {
    const auto one = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(codes));
    auto two = hn::BitCast(pairs, one);
    two = hn::And(hn::Or(two, hn::ShiftRight<6>(two)), hn::Set(pairs, 0xF));
    auto four = hn::BitCast(fours, two);
    four = hn::And(hn::Or(four, hn::ShiftRight<12>(four)), hn::Set(fours, 0xFF));
    hn::StoreU(hn::TruncateTo(packed, four), packed, reinterpret_cast<std::uint8_t*>(words));
    codes += kCodes;
    words += kCodes / kCodesPerWord;
  }
  pack_codes(codes, n, words);
}

/// Calls use(i, values) for the n samples at x, vector by vector; the last vector repeats samples
/// instead of reading past them.
template <class T, class Use>
HWY_INLINE void for_each_vector(const T* x, std::int32_t n, Use use) noexcept {
  const hn::ScalableTag<T> d;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  if (n < kLanes) {
    HWY_ALIGN T lanes[kLanes];
    for (std::int32_t i = 0; i < kLanes; ++i) lanes[i] = x[i < n ? i : 0];
    return use(0, hn::Load(d, lanes));
  }
  std::int32_t i = 0;
  for (; i + kLanes <= n; i += kLanes) use(i, hn::LoadU(d, x + i));
  if (i < n) use(n - kLanes, hn::LoadU(d, x + n - kLanes));
}

/// The bounds of a row so far, lane by lane.
template <class T>
struct RowBounds {
  using D = hn::ScalableTag<T>;
  hn::Vec<D> low;
  hn::Vec<D> high;
  hn::Vec<D> odd;  // NaN where a sample is not finite
};

template <class T, class Use>
HWY_INLINE RowBounds<T> bounds_of(const T* x, std::int32_t n, const Use& use) noexcept {
  const hn::ScalableTag<T> d;
  const auto first = hn::Set(d, x[0]);
  RowBounds<T> bounds = {first, first, hn::Zero(d)};
  for_each_vector(x, n, [&](std::int32_t i, hn::Vec<decltype(d)> v) HWY_ATTR {
    use(i, v);
    bounds.low = hn::Min(bounds.low, v);
    bounds.high = hn::Max(bounds.high, v);
    bounds.odd = hn::Add(bounds.odd, hn::Sub(v, v));
  });
  return bounds;
}

/// Number of rows whose bounds are folded together: the lanes of a block of 128 bits.
template <class T>
inline constexpr std::int32_t kFolded = 16 / sizeof(T);

/// Lane i of the first block: the smallest lane of v[i].
template <class D>
HWY_INLINE hn::Vec<D> least_of_each(D d, const hn::Vec<D>* v) noexcept {
  const auto least_of_two = [&](auto tag, hn::Vec<D> a, hn::Vec<D> b) HWY_ATTR {
    const auto first = hn::BitCast(tag, a);
    const auto second = hn::BitCast(tag, b);
    return hn::Min(hn::BitCast(d, hn::InterleaveLower(tag, first, second)),
                   hn::BitCast(d, hn::InterleaveUpper(tag, first, second)));
  };
  auto least = least_of_two(d, v[0], v[1]);
  if constexpr (kFolded<hn::TFromD<D>> == 4) {
    least = least_of_two(hn::RepartitionToWide<D>(), least, least_of_two(d, v[2], v[3]));
  }
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 64) {
    least = hn::Min(least, hn::ConcatUpperUpper(d, least, least));
  }
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) >= 32) {
    least = hn::Min(least, hn::SwapAdjacentBlocks(least));
  }
  return least;
}

/// The extents of kFolded rows.
template <class T>
HWY_INLINE void fold(const RowBounds<T>* bounds, Extent<T>* extents) noexcept {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  V low[kFolded<T>], fall[kFolded<T>];
  V odd = hn::Zero(d);
  TAUTSTRING_UNROLL_ALL for (std::int32_t i = 0; i < kFolded<T>; ++i) {
    low[i] = bounds[i].low;
    fall[i] = hn::Neg(bounds[i].high);
    odd = hn::Add(odd, bounds[i].odd);
  }
  HWY_ALIGN T least[hn::MaxLanes(d)];
  HWY_ALIGN T most[hn::MaxLanes(d)];
  hn::Store(least_of_each(d, low), d, least);
  hn::Store(least_of_each(d, fall), d, most);
  const bool all_finite = hn::AllTrue(d, hn::Eq(odd, hn::Zero(d)));
  TAUTSTRING_UNROLL_ALL for (std::int32_t i = 0; i < kFolded<T>; ++i) {
    extents[i] = {least[i], -most[i], all_finite};
  }
  if (HWY_LIKELY(all_finite)) return;
  for (std::int32_t i = 0; i < kFolded<T>; ++i) {
    extents[i].finite = hn::AllTrue(d, hn::Eq(bounds[i].odd, hn::Zero(d)));
  }
}

/// Measures rows `step` apart; calls use(r, i, values) for their samples.
template <class T, class Use>
HWY_INLINE void measure(const T* x, std::int64_t step, std::int32_t rows, std::int32_t n,
                        Extent<T>* extents, const Use& use) noexcept {
  const auto bounds_of_row = [&](std::int32_t r) HWY_ATTR {
    return bounds_of(x + r * step, n, [&](std::int32_t i, auto v) HWY_ATTR { use(r, i, v); });
  };
  std::int32_t r = 0;
  RowBounds<T> bounds[kFolded<T>];
  for (; r + kFolded<T> <= rows; r += kFolded<T>) {
    TAUTSTRING_UNROLL_ALL for (std::int32_t i = 0; i < kFolded<T>; ++i) bounds[i] =
        bounds_of_row(r + i);
    fold(bounds, extents + r);
  }
  for (; r < rows; ++r) {
    Extent<T> folded[kFolded<T>];
    bounds[0] = bounds_of_row(r);
    std::fill(bounds + 1, bounds + kFolded<T>, bounds[0]);
    fold(bounds, folded);
    extents[r] = folded[0];
  }
}

template <class T>
void measure_rows(const T* x, std::int64_t pitch, std::int32_t rows, std::int32_t n,
                  Extent<T>* extents) noexcept {
  measure(x, pitch, rows, n, extents, [](std::int32_t, std::int32_t, auto) HWY_ATTR {});
}

/// Rows have room for one more vector.
template <class T>
void copy_rows(const T* from, std::int64_t step, std::int32_t rows, std::int32_t n, T* to,
               std::int64_t pitch, Extent<T>* extents) noexcept {
  const hn::ScalableTag<T> d;
  measure(from, step, rows, n, extents, [&](std::int32_t r, std::int32_t i, auto v) HWY_ATTR {
    hn::StoreU(v, d, to + r * pitch + i);
  });
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
