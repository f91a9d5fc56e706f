// Small operations that Highway lacks. Per-target.
#if defined(TAUTSTRING_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_LANES_INL_H_
#undef TAUTSTRING_LANES_INL_H_
#else
#define TAUTSTRING_LANES_INL_H_
#endif

#include <cstdint>
#include <type_traits>

#include "cpu/vector/bit_tables.h"
#include "hwy/highway.h"

#define TAUTSTRING_UNROLL_ALL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 32-bit indices in lanes as wide as DI's.
template <class DI>
HWY_INLINE hn::Vec<DI> load_indices(const std::int32_t* indices) {
  const DI di;
  if constexpr (sizeof(hn::TFromD<DI>) == 4) {
    return hn::LoadU(di, indices);
  } else {
    return hn::PromoteTo(di, hn::LoadU(hn::Rebind<std::int32_t, DI>(), indices));
  }
}

/// Keeps the compiler from extracting the stored values from the vector, lane by lane: loads are
/// cheaper.
template <class Array>
HWY_INLINE void launder(Array& array) {
  asm volatile("" : "+m"(array));
}

/// The lanes of a mask as the low bits of a number.
template <class D>
HWY_INLINE std::uint32_t mask_bits(D d, hn::Mask<D> mask) {
#if HWY_TARGET <= HWY_AVX3
  // By one instruction, because g++ 12 at -O1 may spill 16 bits of a mask and then reload 32.
  static_assert(hn::MaxLanes(d) == 16 || hn::MaxLanes(d) == 8);
  std::uint32_t bits;
  if constexpr (hn::MaxLanes(d) == 16) {
    asm("kmovw %1, %0" : "=r"(bits) : "k"(mask.raw));
  } else {
    asm("kmovb %1, %0" : "=r"(bits) : "k"(mask.raw));
  }
  return bits;
#else
  // As wide as the store: a wider load would have to wait for the store.
  std::conditional_t<(hn::MaxLanes(d) > 8), std::uint16_t, std::uint8_t> bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  return bits;
#endif
}

/// The bytes of a number as lanes of DI.
template <class DI>
HWY_INLINE hn::Vec<DI> lanes_from_bytes(DI di, std::uint64_t bytes) {
  static_assert(hn::MaxLanes(di) <= 8);
  const hn::Rebind<std::uint8_t, DI> du8;
  const hn::Rebind<std::int32_t, DI> di32;
  const auto narrow =
      hn::BitCast(hn::Full64<std::uint8_t>(), hn::Set(hn::Full64<std::uint64_t>(), bytes));
  const auto wide = hn::PromoteTo(di32, hn::Vec<decltype(du8)>{narrow.raw});
  if constexpr (sizeof(hn::TFromD<DI>) == 4) {
    return wide;
  } else {
    return hn::PromoteTo(di, wide);
  }
}

/// In lane i: how many of the bits 0 .. i of `bits` are set, minus `base`.
template <class DI>
HWY_INLINE hn::Vec<DI> count_bits_up_to_lane(DI di, std::uint32_t bits, std::uint32_t base) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  const std::uint64_t low = kPrefixCounts[bits & 0xFF];
  if constexpr (hn::MaxLanes(di) == 16) {
    const std::uint64_t high = kPrefixCounts[bits >> 8] + kOnes * ((low >> 56) - base);
    const hn::Full64<std::uint64_t> half;
    const auto both = hn::Combine(hn::Full128<std::uint64_t>(), hn::Set(half, high),
                                  hn::Set(half, low - kOnes * base));
    return hn::PromoteTo(di, hn::BitCast(hn::Full128<std::uint8_t>(), both));
  } else {
    return lanes_from_bytes(di, low - kOnes * base);
  }
}

/// The lanes whose bits are set, moved together.
template <class D>
HWY_INLINE hn::Vec<D> compress_lanes(D d, hn::Vec<D> v, std::uint32_t bits) {
#if HWY_TARGET <= HWY_AVX3
  const hn::RebindToSigned<D> di;
  const auto raw = hn::BitCast(di, v).raw;
  if constexpr (sizeof(hn::TFromD<D>) == 4 && hn::MaxLanes(d) == 16) {
    const auto where = static_cast<__mmask16>(bits);
    return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_maskz_compress_epi32(where, raw)});
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const auto where = static_cast<__mmask8>(bits);
    return hn::BitCast(d, hn::Vec<decltype(di)>{_mm256_maskz_compress_epi32(where, raw)});
  } else {
    const auto where = static_cast<__mmask8>(bits);
    return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_maskz_compress_epi64(where, raw)});
  }
#else
  const hn::RebindToSigned<D> di;
  return hn::TableLookupLanes(v, hn::IndicesFromVec(d, lanes_from_bytes(di, kSetBits[bits])));
#endif
}

/// Comparisons within a mask: one instruction on AVX-512, which compilers do not generate by
/// themselves.
template <class D>
struct Within {
  using V = hn::Vec<D>;
  hn::Mask<D> mask;

#if HWY_TARGET <= HWY_AVX3
  template <int kCompare>
  HWY_INLINE hn::Mask<D> compare(V a, V b) const {
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      return hn::Mask<D>{_mm512_mask_cmp_ps_mask(mask.raw, a.raw, b.raw, kCompare)};
    } else {
      return hn::Mask<D>{_mm512_mask_cmp_pd_mask(mask.raw, a.raw, b.raw, kCompare)};
    }
  }
  HWY_INLINE hn::Mask<D> not_lt(V a, V b) const {
    return compare<_CMP_NLT_UQ>(a, b);
  }
  HWY_INLINE hn::Mask<D> not_gt(V a, V b) const {
    return compare<_CMP_NGT_UQ>(a, b);
  }
  HWY_INLINE hn::Mask<D> le(V a, V b) const {
    return compare<_CMP_LE_OQ>(a, b);
  }
  HWY_INLINE hn::Mask<D> ge(V a, V b) const {
    return compare<_CMP_GE_OQ>(a, b);
  }
  HWY_INLINE hn::Mask<D> gt(V a, V b) const {
    return compare<_CMP_GT_OQ>(a, b);
  }
#else
  HWY_INLINE hn::Mask<D> not_lt(V a, V b) const {
    return hn::AndNot(hn::Lt(a, b), mask);
  }
  HWY_INLINE hn::Mask<D> not_gt(V a, V b) const {
    return hn::AndNot(hn::Gt(a, b), mask);
  }
  HWY_INLINE hn::Mask<D> le(V a, V b) const {
    return hn::And(mask, hn::Le(a, b));
  }
  HWY_INLINE hn::Mask<D> ge(V a, V b) const {
    return hn::And(mask, hn::Ge(a, b));
  }
  HWY_INLINE hn::Mask<D> gt(V a, V b) const {
    return hn::And(mask, hn::Gt(a, b));
  }
#endif
};

/// `v` in the lanes of `start`, sum + v in all others: one instruction on AVX-512.
template <class D>
HWY_INLINE hn::Vec<D> add_or_start(D /*d*/, hn::Mask<D> start, hn::Vec<D> sum, hn::Vec<D> v) {
#if HWY_TARGET <= HWY_AVX3
  const auto adds = hn::Not(start).raw;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::Vec<D>{_mm512_mask_add_ps(v.raw, adds, sum.raw, v.raw)};
  } else {
    return hn::Vec<D>{_mm512_mask_add_pd(v.raw, adds, sum.raw, v.raw)};
  }
#else
  return hn::IfThenElse(start, v, hn::Add(sum, v));
#endif
}

/// sum + v in the lanes of `where`, sum in all others: one instruction on AVX-512.
template <class D>
HWY_INLINE hn::Vec<D> add_in_lanes(D /*d*/, hn::Mask<D> where, hn::Vec<D> sum, hn::Vec<D> v) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::Vec<D>{_mm512_mask_add_ps(sum.raw, where.raw, sum.raw, v.raw)};
  } else {
    return hn::Vec<D>{_mm512_mask_add_pd(sum.raw, where.raw, sum.raw, v.raw)};
  }
#else
  return hn::Add(sum, hn::IfThenElseZero(where, v));
#endif
}

/// v | bits in the lanes of `where`, v in all others: one instruction on AVX-512.
template <class DU>
HWY_INLINE hn::Vec<DU> or_in_lanes(DU /*du*/, hn::Mask<DU> where, hn::Vec<DU> bits, hn::Vec<DU> v) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(hn::TFromD<DU>) == 4) {
    return hn::Vec<DU>{_mm512_mask_or_epi32(v.raw, where.raw, v.raw, bits.raw)};
  } else {
    return hn::Vec<DU>{_mm512_mask_or_epi64(v.raw, where.raw, v.raw, bits.raw)};
  }
#else
  return hn::Or(v, hn::IfThenElseZero(where, bits));
#endif
}

/// Moves the first lanes of a vector, in order, to the lanes where a mask is set.
template <class D>
class Spread {
  using DI = hn::RebindToSigned<D>;

 public:
#if HWY_TARGET <= HWY_AVX3
  HWY_INLINE explicit Spread(hn::Mask<DI> where) : where_(where) {}

  HWY_INLINE hn::Vec<D> spread(hn::Vec<D> v) const {
    const DI di;
    return hn::BitCast(D(), spread(hn::BitCast(di, v)));
  }
  HWY_INLINE hn::Vec<DI> spread(hn::Vec<DI> v) const {
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      return hn::Vec<DI>{_mm512_maskz_expand_epi32(where_.raw, v.raw)};
    } else {
      return hn::Vec<DI>{_mm512_maskz_expand_epi64(where_.raw, v.raw)};
    }
  }

 private:
  hn::Mask<DI> where_;
#else
  HWY_INLINE explicit Spread(hn::Mask<DI> where) {
    const DI di;
    const std::uint32_t bits = mask_bits(di, where);
    const auto counts = count_bits_up_to_lane(di, bits, 0);
    // Lanes before the first set one get -1; any lane will do for them.
    from_ = hn::Max(hn::Sub(counts, hn::Set(di, 1)), hn::Zero(di));
  }

  template <class Vector>
  HWY_INLINE Vector spread(Vector v) const {
    const hn::DFromV<Vector> dv;
    return hn::TableLookupLanes(v, hn::IndicesFromVec(dv, from_));
  }

 private:
  hn::Vec<DI> from_;
#endif
};

/// Moves lanes up by 1, 2, 4 ...
template <class D, int kShifts>
class LaneShifts {
  using TI = hn::TFromD<hn::RebindToSigned<D>>;
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));
  struct Table {
    alignas(64) TI from[kShifts][kLanes];
  };
  static constexpr Table kTable = [] {
    Table table{};
    for (int r = 0; r < kShifts; ++r) {
      for (int i = 0; i < kLanes; ++i) table.from[r][i] = i < (1 << r) ? 0 : i - (1 << r);
    }
    return table;
  }();

 public:
  /// Lane i of the result is lane i - 2^r; the first ones are not defined.
  static HWY_INLINE hn::Vec<D> shift(hn::Vec<D> v, int r) {
    return hn::TableLookupLanes(v, hn::SetTableIndices(D(), kTable.from[r]));
  }
};

/// Loads x[from[i]] into lane i, and the elements after it into the lane's neighbours in its
/// 128-bit block: the raw rows of a transpose.
template <class D, class TI>
HWY_INLINE hn::Vec<D> load_blocks(D d, const hn::TFromD<D>* x, const TI* from) {
  if constexpr (hn::MaxLanes(d) * sizeof(hn::TFromD<D>) == 16) {
    return hn::LoadU(d, x + from[0]);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, x, from + hn::MaxLanes(half)),
                       load_blocks(half, x, from));
  }
}

/// Transposes the blocks of 128 bits at the same place in v[0], v[1] ...: as many as a block has
/// elements.
template <class D>
HWY_INLINE void transpose_blocks(D d, const hn::Vec<D>* v, hn::Vec<D>* out) {
  if constexpr (sizeof(hn::TFromD<D>) == 2) {
    // Pairs of neighbours first, then these as elements of twice the size.
    const hn::RepartitionToWide<D> dw;
    hn::Vec<decltype(dw)> lower[4], upper[4], out_lower[4], out_upper[4];
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < 4; ++i) {
      lower[i] = hn::BitCast(dw, hn::InterleaveLower(d, v[2 * i], v[2 * i + 1]));
      upper[i] = hn::BitCast(dw, hn::InterleaveUpper(d, v[2 * i], v[2 * i + 1]));
    }
    transpose_blocks(dw, lower, out_lower);
    transpose_blocks(dw, upper, out_upper);
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < 4; ++i) {
      out[i] = hn::BitCast(d, out_lower[i]);
      out[4 + i] = hn::BitCast(d, out_upper[i]);
    }
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const hn::RepartitionToWide<D> dw;
    const auto a = hn::BitCast(dw, hn::InterleaveLower(d, v[0], v[1]));
    const auto b = hn::BitCast(dw, hn::InterleaveUpper(d, v[0], v[1]));
    const auto c = hn::BitCast(dw, hn::InterleaveLower(d, v[2], v[3]));
    const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, v[2], v[3]));
    out[0] = hn::BitCast(d, hn::InterleaveLower(dw, a, c));
    out[1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, c));
    out[2] = hn::BitCast(d, hn::InterleaveLower(dw, b, e));
    out[3] = hn::BitCast(d, hn::InterleaveUpper(dw, b, e));
  } else {
    out[0] = hn::InterleaveLower(d, v[0], v[1]);
    out[1] = hn::InterleaveUpper(d, v[0], v[1]);
  }
}

/// Transposes the blocks of 128 bits of v[0], v[1] ... as whole: out[i] has block i of each of
/// them.
template <class D>
HWY_INLINE void transpose_whole_blocks(D d, const hn::Vec<D>* v, hn::Vec<D>* out) {
  constexpr std::size_t kBlocks = hn::MaxLanes(d) * sizeof(hn::TFromD<D>) / 16;
  static_assert(kBlocks == 1 || kBlocks == 2 || kBlocks == 4);
  if constexpr (kBlocks == 1) {
    out[0] = v[0];
  } else if constexpr (kBlocks == 2) {
    out[0] = hn::ConcatLowerLower(d, v[1], v[0]);
    out[1] = hn::ConcatUpperUpper(d, v[1], v[0]);
  } else {
#if HWY_TARGET <= HWY_AVX3
    const hn::RebindToSigned<D> di;
    const auto raw = [&](hn::Vec<D> a) HWY_ATTR { return hn::BitCast(di, a).raw; };
    const auto back = [&](__m512i a) HWY_ATTR { return hn::BitCast(d, hn::Vec<decltype(di)>{a}); };
    const __m512i low0 = _mm512_shuffle_i32x4(raw(v[0]), raw(v[1]), 0x44);
    const __m512i low1 = _mm512_shuffle_i32x4(raw(v[2]), raw(v[3]), 0x44);
    const __m512i high0 = _mm512_shuffle_i32x4(raw(v[0]), raw(v[1]), 0xEE);
    const __m512i high1 = _mm512_shuffle_i32x4(raw(v[2]), raw(v[3]), 0xEE);
    out[0] = back(_mm512_shuffle_i32x4(low0, low1, 0x88));
    out[1] = back(_mm512_shuffle_i32x4(low0, low1, 0xDD));
    out[2] = back(_mm512_shuffle_i32x4(high0, high1, 0x88));
    out[3] = back(_mm512_shuffle_i32x4(high0, high1, 0xDD));
#endif
  }
}

/// out[j], lane i = x[from[i] + j] for j < kCount.
template <int kCount, class D, class TI>
HWY_INLINE void load_transposed(D d, const hn::TFromD<D>* x, const TI* from, hn::Vec<D>* out) {
  constexpr int kBlock = 16 / sizeof(hn::TFromD<D>);
  static_assert(kCount % kBlock == 0);
  TAUTSTRING_UNROLL_ALL for (int j = 0; j < kCount; j += kBlock) {
    hn::Vec<D> blocks[kBlock];
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < kBlock; ++i) {
      blocks[i] = load_blocks(d, x + j, from + i);
    }
    transpose_blocks(d, blocks, out + j);
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
