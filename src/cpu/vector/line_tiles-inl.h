// Lines of images, one per lane: from and to memory. Per-target.
#if defined(TAUTSTRING_LINE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_LINE_TILES_INL_H_
#undef TAUTSTRING_LINE_TILES_INL_H_
#else
#define TAUTSTRING_LINE_TILES_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/line_pass.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// The lines [first, first + count) of a pass, at most as many as there are lanes. In a tile,
/// sample k of lane l is at k * kLanes + l.
template <class T>
class LineTiles {
  using D = hn::ScalableTag<T>;
  static constexpr D d{};
  static constexpr std::int32_t kLanes = static_cast<std::int32_t>(hn::MaxLanes(d));
  static constexpr std::int32_t kBlock = 16 / sizeof(T);  // samples that are transposed together

 public:
  HWY_INLINE LineTiles(const LinePass<T>& pass, std::int64_t first, std::int32_t count) noexcept
      : pass_(pass), first_(first), count_(count) {
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t line = first + std::min(lane, count - 1);
      from_[lane] = line / pass.lines * pass.image_step + line % pass.lines * pass.line_step;
    }
  }

  [[nodiscard]] HWY_INLINE hn::Vec<D> lam() const noexcept {
    if (pass_.images == 1) return hn::Set(d, pass_.lam[0]);
    HWY_ALIGN T lanes[kLanes];
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = pass_.lam[(first_ + std::min(lane, count_ - 1)) / pass_.lines];
    }
    return hn::Load(d, lanes);
  }

  /// Lanes without a line repeat the last line.
  HWY_INLINE void load(T* tile) const noexcept {
    if (pass_.sample_step == 1) {
      std::int32_t k = 0;
      for (; k + kBlock <= pass_.n; k += kBlock) {
        hn::Vec<D> v[kBlock];
        load_transposed<kBlock>(d, pass_.in + k, from_, v);
        TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
          hn::Store(v[j], d, tile + (k + j) * kLanes);
        }
      }
      load_samples(k, tile);
    } else if (is_one_run()) {
      const T* in = pass_.in + from_[0];
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        hn::Store(hn::LoadU(d, in + k * pass_.sample_step), d, tile + k * kLanes);
      }
    } else {
      load_samples(0, tile);
    }
  }

  /// Stores the solutions of all lines but those whose bits are set in `left`.
  HWY_INLINE void store(const T* tile, std::uint32_t left) const noexcept {
    if (HWY_UNLIKELY(left != 0)) return store_samples(0, left, tile);
    if (pass_.sample_step == 1) {
      std::int32_t k = 0;
      if (count_ == kLanes) {
        for (; k + kBlock <= pass_.n; k += kBlock) store_block(k, tile);
      }
      store_samples(k, left, tile);
    } else if (is_one_run()) {
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        const std::int64_t at = from_[0] + k * pass_.sample_step;
        hn::Vec<D> v = hn::Load(d, tile + k * kLanes);
        if (pass_.added != nullptr) v = hn::Add(v, hn::LoadU(d, pass_.added + at));
        hn::StoreU(v, d, pass_.out + at);
      }
    } else {
      store_samples(0, left, tile);
    }
  }

 private:
  /// Whether the lanes are neighbours in memory.
  [[nodiscard]] HWY_INLINE bool is_one_run() const noexcept {
    return count_ == kLanes && from_[kLanes - 1] - from_[0] == kLanes - 1;
  }

  HWY_INLINE void store_block(std::int32_t k, const T* tile) const noexcept {
    const hn::Full128<T> block;
    HWY_ALIGN T lines[kBlock * kLanes];  // [line in its block][block][sample]
    hn::Vec<D> v[kBlock], out[kBlock];
    TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
      v[j] = hn::Load(d, tile + (k + j) * kLanes);
    }
    transpose_blocks(d, v, out);
    TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
      hn::Store(out[j], d, lines + j * kLanes);
    }
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      const std::int64_t at = from_[lane] + k;
      auto samples = hn::Load(block, lines + lane % kBlock * kLanes + lane / kBlock * kBlock);
      if (pass_.added != nullptr) {
        samples = hn::Add(samples, hn::LoadU(block, pass_.added + at));
      }
      hn::StoreU(samples, block, pass_.out + at);
    }
  }

  HWY_NOINLINE void load_samples(std::int32_t first, T* tile) const noexcept {
    for (std::int32_t k = first; k < pass_.n; ++k) {
      for (std::int32_t lane = 0; lane < kLanes; ++lane) {
        tile[k * kLanes + lane] = pass_.in[from_[lane] + k * pass_.sample_step];
      }
    }
  }
  HWY_NOINLINE void store_samples(std::int32_t first, std::uint32_t left,
                                  const T* tile) const noexcept {
    for (std::int32_t k = first; k < pass_.n; ++k) {
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        if ((left >> lane & 1U) != 0) continue;
        const std::int64_t at = from_[lane] + k * pass_.sample_step;
        const T value = tile[k * kLanes + lane];
        pass_.out[at] = pass_.added == nullptr ? value : value + pass_.added[at];
      }
    }
  }

  const LinePass<T>& pass_;
  const std::int64_t first_;
  const std::int32_t count_;
  std::int64_t from_[kLanes];  // the first samples of the lines
};

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
