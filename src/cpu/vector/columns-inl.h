// Columns of an array to rows and back: elements that are neighbours in memory to places a pitch
// apart. Per-target.
#if defined(TAUTSTRING_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_COLUMNS_INL_H_
#undef TAUTSTRING_COLUMNS_INL_H_
#else
#define TAUTSTRING_COLUMNS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/vector/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// Elements of any size, as many as a vector has lanes of float32; but at least a block.
template <class T>
using ColumnTag = std::conditional_t<
    sizeof(T) == 2,
    hn::CappedTag<T, std::max<std::size_t>(8, hn::MaxLanes(hn::ScalableTag<float>()))>,
    hn::ScalableTag<T>>;

/// The inverse of load_transposed: to[at[i] + j] = lane i of v[j], for all j of a block.
template <class D>
HWY_INLINE void store_transposed(D d, const hn::Vec<D>* v, hn::TFromD<D>* to,
                                 std::int64_t pitch) noexcept {
  using T = hn::TFromD<D>;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  constexpr int kBlock = 16 / sizeof(T);
  const hn::Full128<T> block;
  hn::Vec<D> out[kBlock];
  transpose_blocks(d, v, out);
  HWY_ALIGN T lanes[kLanes];
  TAUTSTRING_UNROLL_ALL for (int j = 0; j < kBlock; ++j) {
    hn::Store(out[j], d, lanes);
    TAUTSTRING_UNROLL_ALL for (int i = 0; i < kLanes; i += kBlock) {
      hn::StoreU(hn::Load(block, lanes + i), block, to + (i + j) * pitch);
    }
  }
}

/// Calls use(i, r) for the blocks of samples and rows that vectors transpose at a time, in the
/// order of columns in memory, and one(i, r) for all other elements.
template <class T, class Use, class One>
HWY_INLINE void for_each_block(std::int32_t rows, std::int32_t n, const Use& use,
                               const One& one) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(ColumnTag<T>());
  constexpr std::int32_t kBlock = 16 / sizeof(T);
  const std::int32_t whole_n = n / kBlock * kBlock;
  const std::int32_t whole_rows = rows / kLanes * kLanes;
  for (std::int32_t i = 0; i < whole_n; i += kBlock) {
    for (std::int32_t r = 0; r < whole_rows; r += kLanes) use(i, r);
  }
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t r = i < whole_n ? whole_rows : 0; r < rows; ++r) one(i, r);
  }
}

template <class T>
void gather_columns(const T* from, std::int64_t stride, std::int32_t rows, std::int32_t n, T* to,
                    std::int64_t pitch) noexcept {
  const ColumnTag<T> d;
  constexpr std::int32_t kBlock = 16 / sizeof(T);
  for_each_block<T>(
      rows, n,
      [&](std::int32_t i, std::int32_t r) HWY_ATTR {
        hn::Vec<decltype(d)> v[kBlock];
        TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
          v[j] = hn::LoadU(d, from + (i + j) * stride + r);
        }
        store_transposed(d, v, to + r * pitch + i, pitch);
      },
      [&](std::int32_t i, std::int32_t r) { to[r * pitch + i] = from[i * stride + r]; });
}

template <class T>
void scatter_columns(const T* from, std::int64_t pitch, std::int32_t rows, std::int32_t n, T* to,
                     std::int64_t stride) noexcept {
  const ColumnTag<T> d;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  constexpr std::int32_t kBlock = 16 / sizeof(T);
  for_each_block<T>(
      rows, n,
      [&](std::int32_t i, std::int32_t r) HWY_ATTR {
        std::int64_t at[kLanes];
        for (std::int32_t l = 0; l < kLanes; ++l) at[l] = (r + l) * pitch;
        hn::Vec<decltype(d)> v[kBlock];
        load_transposed<kBlock>(d, from + i, at, v);
        TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
          hn::StoreU(v[j], d, to + (i + j) * stride + r);
        }
      },
      [&](std::int32_t i, std::int32_t r) { to[i * stride + r] = from[r * pitch + i]; });
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
