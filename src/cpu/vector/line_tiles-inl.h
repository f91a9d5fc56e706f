// The lines of an image, one per lane, and their partitions: from and to memory. Per-target.
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
#include "tautstring/partition.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// A group of lines: as many as there are lanes, or what is left of them. In a tile, sample k of
/// lane l is at k * kLanes + l.
template <class T>
class LineTiles {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using Block = hn::Full128<T>;
  static constexpr D d{};
  static constexpr std::int32_t kBlock = 16 / sizeof(T);  // samples in 128 bits

 public:
  static constexpr std::int32_t kLanes = static_cast<std::int32_t>(hn::MaxLanes(d));

  HWY_INLINE LineTiles(const LineShape& shape, std::int64_t group) noexcept
      : shape_(shape),
        first_(group * kLanes),
        count_(static_cast<std::int32_t>(std::min<std::int64_t>(shape.lines - first_, kLanes))) {
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      from_[lane] = (first_ + std::min(lane, count_ - 1)) * shape.line_step;
    }
  }

  [[nodiscard]] HWY_INLINE std::int64_t first() const noexcept { return first_; }
  [[nodiscard]] HWY_INLINE std::int32_t count() const noexcept { return count_; }

  /// Lanes without a line get samples that are quickly solved.
  HWY_INLINE void load(const T* in, T* tile) const noexcept {
    if (shape_.sample_step == 1) return load_rows(in, tile);
    if (count_ == kLanes) {
      for (std::int32_t k = 0; k < shape_.n; ++k) {
        hn::Store(hn::LoadU(d, in + at(0, k)), d, tile + k * kLanes);
      }
      return;
    }
    std::fill_n(tile, std::int64_t{shape_.n} * kLanes, T{0});
    for (std::int32_t k = 0; k < shape_.n; ++k) {
      const T* from = in + at(0, k);
      T* to = tile + k * kLanes;
      std::int32_t lane = 0;
      for (; lane + kBlock <= count_; lane += kBlock) {
        hn::StoreU(hn::LoadU(Block(), from + lane), Block(), to + lane);
      }
      for (; lane < count_; ++lane) to[lane] = from[lane];
    }
  }

  /// Calls use(tag, at, values) for vectors of samples that are neighbours in memory, with their
  /// place in arrays and their values in the tile, and use_one(at, value) for what is left.
  template <class Use, class UseOne>
  HWY_INLINE void store(const T* tile, const Use& use, const UseOne& use_one) const noexcept {
    if (shape_.sample_step == 1) return store_rows(tile, use, use_one);
    for (std::int32_t k = 0; k < shape_.n; ++k) {
      const T* from = tile + k * kLanes;
      if (count_ == kLanes) {
        use(d, at(0, k), hn::Load(d, from));
        continue;
      }
      std::int32_t lane = 0;
      for (; lane + kBlock <= count_; lane += kBlock) {
        use(Block(), at(0, k) + lane, hn::LoadU(Block(), from + lane));
      }
      for (; lane < count_; ++lane) use_one(at(0, k) + lane, from[lane]);
    }
  }

  /// Calls use_one(at, value) for all samples of the lanes whose bits are not set.
  template <class UseOne>
  HWY_INLINE void store_without(std::uint32_t left, const T* tile,
                                const UseOne& use_one) const noexcept {
    for (std::int32_t k = 0; k < shape_.n; ++k) {
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        if ((left >> lane & 1U) == 0) use_one(at(lane, k), tile[k * kLanes + lane]);
      }
    }
  }

 private:
  [[nodiscard]] HWY_INLINE std::int64_t at(std::int32_t lane, std::int32_t k) const noexcept {
    return from_[lane] + k * shape_.sample_step;
  }

  HWY_INLINE void load_rows(const T* in, T* tile) const noexcept {
    std::int32_t k = 0;
    for (; k + kLanes <= shape_.n; k += kLanes) load_square(k, in, tile);
    for (; k + kBlock <= shape_.n; k += kBlock) {
      V v[kBlock];
      load_transposed<kBlock>(d, in + k, from_, v);
      TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
        hn::Store(v[j], d, tile + (k + j) * kLanes);
      }
    }
    for (; k < shape_.n; ++k) {
      for (std::int32_t lane = 0; lane < kLanes; ++lane) {
        tile[k * kLanes + lane] = in[from_[lane] + k];
      }
    }
  }

  /// As many samples as there are lanes, of all lines.
  HWY_INLINE void load_square(std::int32_t k, const T* in, T* tile) const noexcept {
    constexpr std::int32_t kBlocks = kLanes / kBlock;
    V v[kBlock][kBlocks];
    TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
      V lines[kBlocks];
      TAUTSTRING_UNROLL_ALL for (std::int32_t b = 0; b < kBlocks; ++b) {
        lines[b] = hn::LoadU(d, in + from_[b * kBlock + j] + k);
      }
      transpose_whole_blocks(d, lines, v[j]);
    }
    TAUTSTRING_UNROLL_ALL for (std::int32_t b = 0; b < kBlocks; ++b) {
      V blocks[kBlock], out[kBlock];
      TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) blocks[j] = v[j][b];
      transpose_blocks(d, blocks, out);
      TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
        hn::Store(out[j], d, tile + (k + b * kBlock + j) * kLanes);
      }
    }
  }

  template <class Use, class UseOne>
  HWY_INLINE void store_rows(const T* tile, const Use& use, const UseOne& use_one) const noexcept {
    std::int32_t k = 0;
    for (; k + kLanes <= shape_.n; k += kLanes) store_square(k, tile, use);
    for (; k + kBlock <= shape_.n; k += kBlock) {
      V out[kBlock];
      load_block(k, tile, out);
      HWY_ALIGN T lines[kBlock * kLanes];  // [line in its block][block][sample]
      TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
        hn::Store(out[j], d, lines + j * kLanes);
      }
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        const T* samples = lines + lane % kBlock * kLanes + lane / kBlock * kBlock;
        use(Block(), at(lane, k), hn::Load(Block(), samples));
      }
    }
    for (; k < shape_.n; ++k) {
      for (std::int32_t lane = 0; lane < count_; ++lane) {
        use_one(at(lane, k), tile[k * kLanes + lane]);
      }
    }
  }

  /// kBlock samples of all lines: block b of out[j] has those of line b * kBlock + j.
  HWY_INLINE void load_block(std::int32_t k, const T* tile, V* out) const noexcept {
    V v[kBlock];
    TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
      v[j] = hn::Load(d, tile + (k + j) * kLanes);
    }
    transpose_blocks(d, v, out);
  }

  /// As many samples as there are lanes, of all lines.
  template <class Use>
  HWY_INLINE void store_square(std::int32_t k, const T* tile, const Use& use) const noexcept {
    constexpr std::int32_t kBlocks = kLanes / kBlock;
    V v[kBlocks][kBlock];
    TAUTSTRING_UNROLL_ALL for (std::int32_t b = 0; b < kBlocks; ++b) {
      load_block(k + b * kBlock, tile, v[b]);
    }
    TAUTSTRING_UNROLL_ALL for (std::int32_t j = 0; j < kBlock; ++j) {
      V blocks[kBlocks], out[kBlocks];
      TAUTSTRING_UNROLL_ALL for (std::int32_t b = 0; b < kBlocks; ++b) blocks[b] = v[b][j];
      transpose_whole_blocks(d, blocks, out);
      TAUTSTRING_UNROLL_ALL for (std::int32_t b = 0; b < kBlocks; ++b) {
        const std::int32_t lane = b * kBlock + j;
        if (lane < count_) use(d, at(lane, k), out[b]);
      }
    }
  }

  const LineShape& shape_;
  const std::int64_t first_;
  const std::int32_t count_;
  std::int64_t from_[kLanes];  // the first samples of the lines
};

/// A bit in each lane, and words of bits in each lane: as wide as T.
template <class T>
class LaneWords {
 public:
  using D = hn::ScalableTag<T>;
  using DU = hn::RebindToUnsigned<D>;
  using DWord = hn::Rebind<std::uint32_t, D>;
  using VU = hn::Vec<DU>;
  using M = hn::Mask<D>;
  using TU = hn::TFromD<DU>;
  static constexpr D d{};
  static constexpr DU du{};
  static constexpr DWord dword{};
  static constexpr std::int32_t kLanes = static_cast<std::int32_t>(hn::MaxLanes(d));

  static HWY_INLINE VU load(const std::uint32_t* words, std::int32_t word) noexcept {
    const auto v = hn::LoadU(dword, words + word * kLanes);
    if constexpr (sizeof(T) == 4) {
      return v;
    } else {
      return hn::PromoteTo(du, v);
    }
  }
  static HWY_INLINE void store(VU v, std::uint32_t* words, std::int32_t word) noexcept {
    if constexpr (sizeof(T) == 4) {
      hn::StoreU(v, dword, words + word * kLanes);
    } else {
      hn::StoreU(hn::TruncateTo(dword, v), dword, words + word * kLanes);
    }
  }
  static HWY_INLINE VU or_where(M where, VU bits, VU v) noexcept {
    return or_in_lanes(du, hn::RebindMask(du, where), bits, v);
  }
  static HWY_INLINE M has(VU word, VU bit) noexcept {
    return hn::RebindMask(d, hn::TestBit(word, bit));
  }
};

/// Bits 0 to 15 of each lane to twice their place, and back.
template <class V>
HWY_INLINE V spread_bits_of_lanes(V bits) noexcept {
  const hn::DFromV<V> d;
  bits = hn::And(bits, hn::Set(d, 0xFFFF));
  bits = hn::And(hn::Or(bits, hn::ShiftLeft<8>(bits)), hn::Set(d, 0x00FF00FF));
  bits = hn::And(hn::Or(bits, hn::ShiftLeft<4>(bits)), hn::Set(d, 0x0F0F0F0F));
  bits = hn::And(hn::Or(bits, hn::ShiftLeft<2>(bits)), hn::Set(d, 0x33333333));
  return hn::And(hn::Or(bits, hn::ShiftLeft<1>(bits)), hn::Set(d, 0x55555555));
}
template <class V>
HWY_INLINE V gather_bits_of_lanes(V bits) noexcept {
  const hn::DFromV<V> d;
  bits = hn::And(bits, hn::Set(d, 0x55555555));
  bits = hn::And(hn::Or(bits, hn::ShiftRight<1>(bits)), hn::Set(d, 0x33333333));
  bits = hn::And(hn::Or(bits, hn::ShiftRight<2>(bits)), hn::Set(d, 0x0F0F0F0F));
  bits = hn::And(hn::Or(bits, hn::ShiftRight<4>(bits)), hn::Set(d, 0x00FF00FF));
  return hn::And(hn::Or(bits, hn::ShiftRight<8>(bits)), hn::Set(d, 0x0000FFFF));
}

/// Most words of codes per line that are loaded and stored by shuffles.
inline constexpr std::int64_t kMostShuffled = 4;

/// out[w], lane l = words[l * per_line + w], for all lanes.
template <class D>
HWY_INLINE void load_interleaved(D d, const std::uint32_t* words, std::int64_t per_line,
                                 hn::Vec<D>* out) noexcept {
  if (per_line == 1) {
    out[0] = hn::LoadU(d, words);
  } else if (per_line == 2) {
    hn::LoadInterleaved2(d, words, out[0], out[1]);
  } else if (per_line == 3) {
    hn::LoadInterleaved3(d, words, out[0], out[1], out[2]);
  } else {
    hn::LoadInterleaved4(d, words, out[0], out[1], out[2], out[3]);
  }
}
template <class D>
HWY_INLINE void store_interleaved(D d, const hn::Vec<D>* v, std::int64_t per_line,
                                  std::uint32_t* words) noexcept {
  if (per_line == 1) {
    hn::StoreU(v[0], d, words);
  } else if (per_line == 2) {
    hn::StoreInterleaved2(v[0], v[1], d, words);
  } else if (per_line == 3) {
    hn::StoreInterleaved3(v[0], v[1], v[2], d, words);
  } else {
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, words);
  }
}

/// The codes of a group of lines, from their words and to them: `per_line` words of codes per line.
template <class T>
HWY_INLINE void store_codes_of_lanes(const std::uint32_t* starts, const std::uint32_t* ups,
                                     std::int32_t count, std::int64_t per_line,
                                     std::uint32_t* codes) noexcept {
  using Words = LaneWords<T>;
  constexpr std::int32_t kLanes = Words::kLanes;
  constexpr typename Words::DWord d;
  const bool is_shuffled = count == kLanes && per_line <= kMostShuffled;
  hn::Vec<decltype(d)> shuffled[kMostShuffled];
  for (std::int32_t word = 0; word < per_line; ++word) {
    auto start = hn::LoadU(d, starts + word / 2 * kLanes);
    auto up = hn::LoadU(d, ups + word / 2 * kLanes);
    if (word % 2 != 0) {
      start = hn::ShiftRight<kCodesPerWord>(start);
      up = hn::ShiftRight<kCodesPerWord>(up);
    }
    auto code = hn::Or(spread_bits_of_lanes(hn::And(start, up)),
                       hn::ShiftLeft<1>(spread_bits_of_lanes(hn::AndNot(up, start))));
    if (word == 0) code = hn::Or(code, hn::Set(d, static_cast<std::uint32_t>(Code::plain)));
    if (is_shuffled) {
      shuffled[word] = code;
      continue;
    }
    HWY_ALIGN std::uint32_t lanes[kLanes];
    hn::Store(code, d, lanes);
    for (std::int32_t lane = 0; lane < count; ++lane) codes[lane * per_line + word] = lanes[lane];
  }
  if (is_shuffled) store_interleaved(d, shuffled, per_line, codes);
}

/// Samples that start a segment, and those that do after a jump up.
template <class T>
HWY_INLINE void load_codes_of_lanes(const std::uint32_t* codes, std::int32_t count,
                                    std::int64_t per_line, std::uint32_t* starts,
                                    std::uint32_t* ups, std::uint32_t* downs) noexcept {
  using Words = LaneWords<T>;
  constexpr std::int32_t kLanes = Words::kLanes;
  constexpr typename Words::DWord d;
  const bool is_shuffled = count == kLanes && per_line <= kMostShuffled;
  hn::Vec<decltype(d)> shuffled[kMostShuffled];
  if (is_shuffled) load_interleaved(d, codes, per_line, shuffled);
  const auto load_word = [&](std::int32_t word) HWY_ATTR {
    if (is_shuffled) return shuffled[word];
    HWY_ALIGN std::uint32_t lanes[kLanes];
    for (std::int32_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = codes[std::min(lane, count - 1) * per_line + word];
    }
    return hn::Load(d, lanes);
  };
  for (std::int32_t word = 0; word < per_line; ++word) {
    const auto code = load_word(word);
    const auto low = gather_bits_of_lanes(code);
    const auto high = gather_bits_of_lanes(hn::ShiftRight<1>(code));
    const auto put = [&](hn::Vec<typename Words::DWord> bits, std::uint32_t* words) HWY_ATTR {
      std::uint32_t* to = words + word / 2 * kLanes;
      if (word % 2 == 0) return hn::StoreU(bits, d, to);
      hn::StoreU(hn::Or(hn::LoadU(d, to), hn::ShiftLeft<kCodesPerWord>(bits)), d, to);
    };
    put(hn::Or(low, high), starts);
    put(hn::AndNot(high, low), ups);
    put(hn::AndNot(low, high), downs);
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
