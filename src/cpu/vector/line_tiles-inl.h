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
  using V = hn::Vec<D>;
  static constexpr D d{};
  static constexpr std::int32_t kLanes = static_cast<std::int32_t>(hn::MaxLanes(d));
  static constexpr std::int32_t kBlock = 16 / sizeof(T);  // samples in 128 bits
  using Block = hn::Full128<T>;

 public:
  HWY_INLINE LineTiles(const LinePass<T>& pass, std::int64_t first, std::int32_t count) noexcept
      : pass_(pass), first_(first), count_(count) {
    std::int64_t image = first / pass.lines;
    std::int64_t line = first % pass.lines;
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      from_[lane] = image * pass.image_step + line * pass.line_step;
      if (lane + 1 >= count || ++line < pass.lines) continue;
      line = 0;
      ++image;
    }
  }

  [[nodiscard]] HWY_INLINE V lam() const noexcept {
    if (pass_.images == 1) return hn::Set(d, pass_.lam[0]);
    HWY_ALIGN T lanes[kLanes];
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = pass_.lam[(first_ + std::min(lane, count_ - 1)) / pass_.lines];
    }
    return hn::Load(d, lanes);
  }

  /// Lanes without a line get some samples that are quickly solved.
  HWY_INLINE void load(T* tile) const noexcept {
    if (pass_.sample_step == 1) return load_rows(tile);
    if (is_one_run(kLanes)) {
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        hn::Store(hn::LoadU(d, pass_.in + at(0, k)), d, tile + k * kLanes);
      }
      return;
    }
    std::fill_n(tile, std::int64_t{pass_.n} * kLanes, T{0});
    for_each_run([&](std::int32_t lane, std::int32_t lanes) HWY_ATTR {
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        const T* in = pass_.in + at(lane, k);
        T* to = tile + k * kLanes + lane;
        std::int32_t i = 0;
        for (; i + kBlock <= lanes; i += kBlock) {
          hn::StoreU(hn::LoadU(Block(), in + i), Block(), to + i);
        }
        for (; i < lanes; ++i) to[i] = in[i];
      }
    });
  }

  /// Stores the solutions of all lines but those whose bits are set in `left`. x is the tile that
  /// was loaded, y has the solutions.
  HWY_INLINE void store(const T* x, const T* y, std::uint32_t left) const noexcept {
    if (HWY_UNLIKELY(left != 0)) return store_samples(left, x, y);
    if (pass_.sample_step == 1) return store_rows(x, y);
    if (is_one_run(kLanes)) {
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        store_vector(d, at(0, k), hn::Load(d, x + k * kLanes), hn::Load(d, y + k * kLanes));
      }
      return;
    }
    for_each_run([&](std::int32_t lane, std::int32_t lanes) HWY_ATTR {
      for (std::int32_t k = 0; k < pass_.n; ++k) {
        const std::int32_t from = k * kLanes + lane;
        std::int32_t i = 0;
        for (; i + kBlock <= lanes; i += kBlock) {
          store_vector(Block(), at(lane, k) + i, hn::LoadU(Block(), x + from + i),
                       hn::LoadU(Block(), y + from + i));
        }
        for (; i < lanes; ++i) store_solution(pass_, at(lane, k) + i, x[from + i], y[from + i]);
      }
    });
  }

 private:
  [[nodiscard]] HWY_INLINE std::int64_t at(std::int32_t lane, std::int32_t k) const noexcept {
    return from_[lane] + k * pass_.sample_step;
  }
  /// Whether these lanes, from the first on, have a line each, and are neighbours in memory.
  [[nodiscard]] HWY_INLINE bool is_one_run(std::int32_t lanes) const noexcept {
    return count_ >= lanes && from_[lanes - 1] - from_[0] == lanes - 1;
  }
  /// Calls use(lane, lanes) for the runs of lanes that are neighbours in memory.
  template <class Use>
  HWY_INLINE void for_each_run(const Use& use) const noexcept {
    for (std::int32_t lane = 0; lane < count_;) {
      std::int32_t behind = lane + 1;
      while (behind < count_ && from_[behind] == from_[behind - 1] + 1) ++behind;
      use(lane, behind - lane);
      lane = behind;
    }
  }

  /// store_solution for a vector of samples that are neighbours in memory.
  template <class DV>
  HWY_INLINE void store_vector(DV dv, std::int64_t at, hn::Vec<DV> in,
                               hn::Vec<DV> solution) const noexcept {
    if (pass_.x != nullptr) {
      const auto q = hn::Sub(in, solution);
      hn::StoreU(q, dv, pass_.next_q + at);
      hn::StoreU(hn::Sub(hn::LoadU(dv, pass_.x + at), q), dv, pass_.out + at);
    } else if (pass_.added != nullptr) {
      hn::StoreU(hn::Add(solution, hn::LoadU(dv, pass_.added + at)), dv, pass_.out + at);
    } else {
      hn::StoreU(solution, dv, pass_.out + at);
    }
  }

  HWY_INLINE void load_rows(T* tile) const noexcept {
    std::int32_t k = 0;
    for (; k + kBlock <= pass_.n; k += kBlock) {
      V v[kBlock];
      load_transposed<kBlock>(d, pass_.in + k, from_, v);
      TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
        hn::Store(v[j], d, tile + (k + j) * kLanes);
      }
    }
    for (; k < pass_.n; ++k) {
      for (std::int32_t lane = 0; lane < kLanes; ++lane) {
        tile[k * kLanes + lane] = pass_.in[from_[lane] + k];
      }
    }
  }

  HWY_INLINE void store_rows(const T* x, const T* y) const noexcept {
    std::int32_t k = 0;
    if (pass_.x == nullptr) {
      for (; k + kBlock <= pass_.n; k += kBlock) store_block(k, y);
    }
    for (; k < pass_.n; ++k) {
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        store_solution(pass_, at(lane, k), x[k * kLanes + lane], y[k * kLanes + lane]);
      }
    }
  }

  HWY_INLINE void store_block(std::int32_t k, const T* y) const noexcept {
    V v[kBlock], out[kBlock];
    TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
      v[j] = hn::Load(d, y + (k + j) * kLanes);
    }
    transpose_blocks(d, v, out);
    HWY_ALIGN T lines[kBlock * kLanes];  // [line in its block][block][sample]
    TAUTSTRING_UNROLL for (std::int32_t j = 0; j < kBlock; ++j) {
      hn::Store(out[j], d, lines + j * kLanes);
    }
    for (std::int32_t lane = 0; lane < count_; ++lane) {
      const T* samples = lines + lane % kBlock * kLanes + lane / kBlock * kBlock;
      const auto solution = hn::Load(Block(), samples);
      store_vector(Block(), at(lane, k), solution, solution);
    }
  }

  HWY_NOINLINE void store_samples(std::uint32_t left, const T* x, const T* y) const noexcept {
    for (std::int32_t k = 0; k < pass_.n; ++k) {
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        if ((left >> lane & 1U) != 0) continue;
        store_solution(pass_, at(lane, k), x[k * kLanes + lane], y[k * kLanes + lane]);
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
