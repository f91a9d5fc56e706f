// Gradients of rows: the mean of the incoming gradient over every segment, which is read once and
// written once. Per-target.
//
// A row is cut into blocks of one vector each, from its start. Within a block, sums double their
// reach in each step as long as no segment starts in between, so that the lane at the end of a
// segment has its sum. The quotient there is then copied to all lanes of the segment. A segment
// that is open at the end of a block is continued in the next one, so a block is written after the
// next one is done. All the masks are made from the codes beforehand, many words at a time.
#if defined(TAUTSTRING_GRADIENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_GRADIENTS_INL_H_
#undef TAUTSTRING_GRADIENTS_INL_H_
#else
#define TAUTSTRING_GRADIENTS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "cpu/vector/segments-inl.h"
#include "cpu/vector/vector_kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

/// Words of codes that are read together.
inline constexpr std::int32_t kGroupWords = 32;

/// The segments of a group of words, from its codes: sets of samples, one bit each. "Block" means
/// kLanes samples.
template <std::int32_t kLanes>
struct SegmentSets {
  static constexpr std::int32_t kBlocks = kGroupWords * kCodesPerWord / kLanes;
  static constexpr int kReaches = kLanes == 16 ? 4 : kLanes == 8 ? 3 : kLanes == 4 ? 2 : 1;
  using Set = std::uint16_t[kGroupWords];

  Set starts;
  Set ends;
  Set single;     // segments of one sample
  Set continued;  // of the segment that began before the block
  Set open;       // of the segment that continues after the block
  Set up;         // jumps
  Set down;
  Set joined[kReaches];   // not a start, nor is any of the 2^r - 1 samples before it in its block
  bool has_long_reach;    // some of joined[2] and above are set
  bool has_whole_blocks;  // without an end
  // For 16 lanes, one word per block: starts including the first lane, and ends from bit 15 down.
  Set block_starts;
  Set reversed_ends;
};

/// The bits of block b of a set.
template <std::int32_t kLanes>
HWY_INLINE std::uint32_t block_bits(const std::uint16_t* set, std::int32_t b) noexcept {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(set);
  if constexpr (kLanes == 16) {
    return set[b];
  } else if constexpr (kLanes == 8) {
    return bytes[b];
  } else {
    return bytes[b * kLanes / 8] >> (b * kLanes % 8) & ((1U << kLanes) - 1);
  }
}

/// The lanes of block b of a set.
template <class D>
HWY_INLINE hn::Mask<D> block_mask(D d, const std::uint16_t* set, std::int32_t b) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
#if HWY_TARGET <= HWY_AVX3
  // Compilers would go through a general register, and few such moves can be made per cycle.
  hn::Mask<D> mask;
  if constexpr (kLanes == 16) {
    asm("kmovw %1, %0" : "=k"(mask.raw) : "m"(set[b]));
  } else {
    asm("kmovb %1, %0" : "=k"(mask.raw) : "m"(reinterpret_cast<const std::uint8_t*>(set)[b]));
  }
  return mask;
#else
  return mask_from_bits(d, block_bits<kLanes>(set, b));
#endif
}

#if HWY_TARGET <= HWY_AVX3
/// Highway does not enable the AVX-512 extension of this instruction; targets.cpp checks that the
/// processor has it.
template <class V>
HWY_INLINE V leading_zeros(V v) noexcept {
  asm("vplzcntd %1, %0" : "=v"(v.raw) : "v"(v.raw));
  return v;
}
#endif

/// Reads the packed codes of rows, a group of words at a time.
template <std::int32_t kLanes>
class SegmentReader {
  using Sets = SegmentSets<kLanes>;

 public:
  HWY_INLINE SegmentReader(const std::uint32_t* words, std::int64_t rows, std::int32_t n) noexcept
      : words_(words),
        left_(rows * partition_words(n)),
        row_words_(static_cast<std::uint32_t>(partition_words(n))),
        codes_behind_row_(n % kCodesPerWord == 0 ? 0 : ~0U << (2 * (n % kCodesPerWord))) {
    for (std::uint32_t w = 0; w < kGroupWords; ++w) place_in_row_[w] = w % row_words_;
  }

  /// Reads the next group, if there is one.
  template <bool kSigns>
  HWY_NOINLINE void read(Sets& sets) noexcept {
    if (left_ <= 0) return;
    const std::uint32_t* words = words_;
    std::uint32_t last_words[kGroupWords + 1] = {};
    if (left_ <= kGroupWords) {  // no byte after them may be read
      std::memcpy(last_words, words, static_cast<std::size_t>(left_) * sizeof(words[0]));
      words = last_words;
    }
    constexpr std::int32_t kWords = hn::MaxLanes(D());
    Flags flags = {hn::Zero(D()), hn::Zero(D())};
    for (std::int32_t w = 0; w < kGroupWords; w += kWords) {
      read_words<kSigns>(words + w, w, sets, flags);
    }
    sets.has_long_reach = !hn::AllTrue(D(), hn::Eq(flags.long_reaches, hn::Zero(D())));
    sets.has_whole_blocks = !hn::AllTrue(D(), hn::Eq(flags.whole_blocks, hn::Zero(D())));
    words_ += kGroupWords;
    left_ -= kGroupWords;
  }

 private:
  using DWord = hn::ScalableTag<std::uint32_t>;
  using VWord = hn::Vec<DWord>;
  using D = hn::ScalableTag<std::uint16_t>;  // a lane has one bit per sample of a word
  using V = hn::Vec<D>;

  struct Flags {
    V long_reaches;
    V whole_blocks;
  };

  /// Moves every second bit, starting with the lowest, together.
  static HWY_INLINE VWord squeeze(VWord v) noexcept {
    const DWord d;
    v = hn::And(v, hn::Set(d, 0x55555555));
    v = hn::And(hn::Or(v, hn::ShiftRight<1>(v)), hn::Set(d, 0x33333333));
    v = hn::And(hn::Or(v, hn::ShiftRight<2>(v)), hn::Set(d, 0x0F0F0F0F));
    v = hn::And(hn::Or(v, hn::ShiftRight<4>(v)), hn::Set(d, 0x00FF00FF));
    return hn::And(hn::Or(v, hn::ShiftRight<8>(v)), hn::Set(d, 0x0000FFFF));
  }

  template <int kStep>
  static HWY_INLINE V swap_bits(V v, std::uint16_t lower) noexcept {
    const V mask = hn::Set(D(), lower);
    return hn::Or(hn::ShiftLeft<kStep>(hn::And(v, mask)), hn::And(hn::ShiftRight<kStep>(v), mask));
  }
  static HWY_INLINE V reverse_bits(V v) noexcept {
    v = swap_bits<4>(swap_bits<2>(swap_bits<1>(v, 0x5555), 0x3333), 0x0F0F);
    return hn::Or(hn::ShiftLeft<8>(v), hn::ShiftRight<8>(v));
  }

  template <class Use, int... r>
  static HWY_INLINE void for_each_reach(Use& use, std::integer_sequence<int, r...>) noexcept {
    (use(std::integral_constant<int, r>()), ...);
  }

  /// The `count` first lanes of every block of a word.
  static constexpr std::uint16_t first_lanes(int count) noexcept {
    std::uint32_t bits = 0;
    for (int b = 0; b < kCodesPerWord; b += kLanes) bits |= ((1U << count) - 1) << b;
    return static_cast<std::uint16_t>(bits);
  }
  static constexpr std::uint16_t last_lanes(int count) noexcept {
    return static_cast<std::uint16_t>(first_lanes(count) << (kLanes - count));
  }

  static HWY_INLINE void store(V v, std::uint16_t* to) noexcept { hn::StoreU(v, D(), to); }

  /// The lower halves of words.
  static HWY_INLINE V narrow(VWord low, VWord high) noexcept {
#if HWY_TARGET <= HWY_AVX3
    return V{_mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi32_epi16(low.raw)),
                                _mm512_cvtepi32_epi16(high.raw), 1)};
#else
    const hn::Half<D> half;
    const hn::RebindToSigned<DWord> di;
    return hn::Combine(D(), hn::DemoteTo(half, hn::BitCast(di, high)),
                       hn::DemoteTo(half, hn::BitCast(di, low)));
#endif
  }

  /// Words of codes, and for each whether it is followed by a start.
  struct Words {
    VWord codes;
    VWord start_behind;
  };

  /// Loads words, with the start of every row as a start and all that follows its end as segments
  /// of their own; none of these has a sign.
  HWY_INLINE Words load_words(const std::uint32_t* words, std::int32_t w) noexcept {
    const DWord d;
    const VWord row_words = hn::Set(d, row_words_);
    const VWord place = hn::LoadU(d, place_in_row_ + w);
    const VWord further = hn::Add(place, hn::Set(d, kGroupWords % row_words_));
    // Minus one row, unless that is below 0.
    hn::StoreU(hn::Min(further, hn::Sub(further, row_words)), d, place_in_row_ + w);
    const auto is_first = hn::Eq(place, hn::Zero(d));
    const auto is_last = hn::Eq(hn::Add(place, hn::Set(d, 1)), row_words);
    VWord codes = hn::LoadU(d, words);
    codes = hn::Or(codes, hn::IfThenElseZero(is_last, hn::Set(d, codes_behind_row_)));
    codes = hn::Or(
        codes, hn::IfThenElseZero(is_first, hn::Set(d, static_cast<std::uint32_t>(Code::plain))));
    const VWord behind = hn::LoadU(d, words + 1);
    const VWord one = hn::Set(d, 1);
    const VWord start_behind = hn::And(hn::Or(behind, hn::ShiftRight<1>(behind)), one);
    return {codes, hn::IfThenElse(is_last, one, start_behind)};
  }

  template <bool kSigns>
  HWY_INLINE void read_words(const std::uint32_t* words, std::int32_t w, Sets& sets,
                             Flags& flags) noexcept {
    constexpr std::int32_t kHalf = hn::MaxLanes(DWord());
    const D d;
    const Words low = load_words(words, w);
    const Words high = load_words(words + kHalf, w + kHalf);
    V start = hn::Zero(d);
    if constexpr (kSigns) {
      const V first_bits = narrow(squeeze(low.codes), squeeze(high.codes));
      const V second_bits =
          narrow(squeeze(hn::ShiftRight<1>(low.codes)), squeeze(hn::ShiftRight<1>(high.codes)));
      store(hn::AndNot(second_bits, first_bits), sets.up + w);
      store(hn::AndNot(first_bits, second_bits), sets.down + w);
      start = hn::Or(first_bits, second_bits);
    } else {
      start = narrow(squeeze(hn::Or(low.codes, hn::ShiftRight<1>(low.codes))),
                     squeeze(hn::Or(high.codes, hn::ShiftRight<1>(high.codes))));
    }
    const V start_behind = narrow(low.start_behind, high.start_behind);
    const V end = hn::Or(hn::ShiftRight<1>(start), hn::ShiftLeft<15>(start_behind));
    store(start, sets.starts + w);
    store(end, sets.ends + w);
    store(hn::And(start, end), sets.single + w);
    if constexpr (kLanes == 16) {
      store(hn::Or(start, hn::Set(d, 1)), sets.block_starts + w);
      store(reverse_bits(end), sets.reversed_ends + w);
    }
    read_reaches(start, end, w, sets, flags);
  }

  /// A lane is continued if neither it nor any lane before it in its block is a start, and open if
  /// neither it nor any lane after it is an end.
  HWY_INLINE void read_reaches(V start, V end, std::int32_t w, Sets& sets, Flags& flags) noexcept {
    const D d;
    V continued = hn::Not(start);
    V open = hn::Not(end);
    V reach = hn::AndNot(hn::Set(d, first_lanes(1)), continued);
    const auto lengthen = [&](auto reaches) HWY_ATTR {
      constexpr int r = decltype(reaches)::value;
      constexpr int kStep = 1 << r;
      store(reach, sets.joined[r] + w);
      if (r >= 2) flags.long_reaches = hn::Or(flags.long_reaches, reach);
      reach = hn::And(reach, hn::ShiftLeft<kStep>(reach));
      const V first = hn::Set(d, first_lanes(kStep));
      const V last = hn::Set(d, last_lanes(kStep));
      continued = hn::And(continued, hn::Or(hn::ShiftLeft<kStep>(continued), first));
      open = hn::And(open, hn::Or(hn::ShiftRight<kStep>(open), last));
    };
    for_each_reach(lengthen, std::make_integer_sequence<int, Sets::kReaches>());
    store(continued, sets.continued + w);
    store(open, sets.open + w);
    flags.whole_blocks = hn::Or(flags.whole_blocks, hn::And(open, hn::Set(d, first_lanes(1))));
  }

  const std::uint32_t* words_;
  std::int64_t left_;
  std::uint32_t row_words_;
  std::uint32_t codes_behind_row_;
  std::uint32_t place_in_row_[kGroupWords];  // of the next group's words
};

#if HWY_TARGET <= HWY_AVX3
/// In lane i of 16: all bits up to bit i; and all from bit 15 - i down.
struct LaneBits {
  alignas(64) std::int32_t up_to[16];
  alignas(64) std::int32_t from[16];
};
inline constexpr LaneBits kLaneBits = [] {
  LaneBits bits{};
  for (int i = 0; i < 16; ++i) {
    bits.up_to[i] = (2 << i) - 1;
    bits.from[i] = 0xFFFF >> i;
  }
  return bits;
}();
#endif

/// A word in both halves of every lane, directly from memory.
template <class DI>
HWY_INLINE hn::Vec<DI> broadcast_word(DI di, const std::uint16_t& word) noexcept {
  return hn::BitCast(di, hn::Set(hn::ScalableTag<std::uint16_t>(), word));
}

/// Bytes as lanes.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> load_bytes(D d,
                                                           const std::uint64_t& bytes) noexcept {
  (void)d;
  const hn::Rebind<std::uint8_t, D> du8;
  const hn::Rebind<std::int32_t, D> di32;
  return hn::PromoteTo(di32, hn::LoadU(du8, reinterpret_cast<const std::uint8_t*>(&bytes)));
}

/// Numbers of samples by lane, in the type that divides fastest.
#if HWY_TARGET <= HWY_AVX3
template <class D>
using CountTag = hn::RebindToSigned<D>;
#else
template <class D>
using CountTag = D;
#endif

/// For the lanes of block b: the number of samples from the start of the segment,
/// or of the block, to here.
template <class D>
HWY_INLINE hn::Vec<CountTag<D>> count_places(D d, const SegmentSets<hn::MaxLanes(D())>& sets,
                                             std::int32_t b) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
  [[maybe_unused]] const CountTag<D> dc;
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kLanes == 16) {
    const auto starts =
        hn::And(broadcast_word(dc, sets.block_starts[b]), hn::Load(dc, kLaneBits.up_to));
    return hn::Add(leading_zeros(starts), hn::Iota(dc, -30));
  } else {
    const auto& bytes = kCountsFromSetBit[block_bits<kLanes>(sets.starts, b) | 1U];
    return hn::PromoteTo(dc, load_bytes(d, bytes));
  }
#else
  const auto counts = load_bytes(d, kCountsFromSetBit[block_bits<kLanes>(sets.starts, b) | 1U]);
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::ConvertTo(d, counts);
  } else {
    return hn::PromoteTo(d, counts);
  }
#endif
}

#if HWY_TARGET <= HWY_AVX3
/// 1 / count for every number of samples that a segment can have in two blocks.
template <class T>
struct Reciprocals {
  alignas(64) T of[128 / sizeof(T)];
};
template <class T>
inline constexpr Reciprocals<T> kReciprocals = [] {
  Reciprocals<T> table{};
  for (std::size_t i = 1; i < 128 / sizeof(T); ++i) table.of[i] = T{1} / static_cast<T>(i);
  return table;
}();
#endif

/// sum / count. AVX-512 multiplies, with the same rounding of 1 / count whether count is below two
/// blocks or not.
template <bool kBelowTwoBlocks, class D>
HWY_INLINE hn::Vec<D> divide(D d, hn::Vec<D> sum, hn::Vec<CountTag<D>> count) noexcept {
#if HWY_TARGET <= HWY_AVX3
  using T = hn::TFromD<D>;
  if constexpr (!kBelowTwoBlocks) {
    return hn::Mul(sum, hn::Div(hn::Set(d, T{1}), hn::ConvertTo(d, count)));
  } else {
    const auto low = hn::Load(d, kReciprocals<T>.of).raw;
    const auto high = hn::Load(d, kReciprocals<T>.of + hn::MaxLanes(d)).raw;
    if constexpr (sizeof(T) == 4) {
      return hn::Mul(sum, hn::Vec<D>{_mm512_permutex2var_ps(low, count.raw, high)});
    } else {
      return hn::Mul(sum, hn::Vec<D>{_mm512_permutex2var_pd(low, count.raw, high)});
    }
  }
#else
  (void)d;
  return hn::Div(sum, count);
#endif
}

/// For the lanes of block b: the lane of the segment's end; any lane if it does not end in the
/// block.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> find_ends(D d, const SegmentSets<hn::MaxLanes(D())>& sets,
                                                    std::int32_t b) noexcept {
  const hn::RebindToSigned<D> di;
  constexpr std::int32_t kLanes = hn::MaxLanes(d);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kLanes == 16) {
    const auto ends =
        hn::And(broadcast_word(di, sets.reversed_ends[b]), hn::Load(di, kLaneBits.from));
    return leading_zeros(ends);  // too large by 16 or 32: only the lower four bits count
  }
#endif
  if constexpr (kLanes <= 8) {
    const auto ends = load_bytes(d, kNextSetBits[block_bits<kLanes>(sets.ends, b)]);
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      return ends;
    } else {
      return hn::PromoteTo(di, ends);
    }
  }
}

/// The lanes of v moved up by one; the first is the last one of `before`.
template <class D>
HWY_INLINE hn::Vec<D> lanes_before(D d, hn::Vec<D> before, hn::Vec<D> v) noexcept {
#if HWY_TARGET <= HWY_AVX3
  const hn::RebindToSigned<D> di;
  const auto low = hn::BitCast(di, before).raw;
  const auto high = hn::BitCast(di, v).raw;
  if constexpr (sizeof(hn::TFromD<D>) == 4) {
    return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_alignr_epi32(high, low, 15)});
  } else {
    return hn::BitCast(d, hn::Vec<decltype(di)>{_mm512_alignr_epi64(high, low, 7)});
  }
#else
  return hn::IfThenElse(hn::FirstN(d, 1), broadcast_last(d, before), LaneShifts<D, 1>::shift(v, 0));
#endif
}

/// The offset to subtract from samples: 0, or, if all of the first block are further from 0 than
/// from one another, the one nearest to 0. Sums are then accurate to a fraction of the row's range:
/// the range is at least half the largest size, or at least any difference to that sample.
template <class T>
HWY_INLINE T choose_origin(const T* g, std::int32_t n) noexcept {
  const hn::ScalableTag<T> d;
  if (n < static_cast<std::int32_t>(hn::MaxLanes(d))) {
    const auto [low, high] = std::minmax_element(g, g + n);
    const T nearest = *low > 0 ? *low : *high;
    const bool far = (*low > 0 || *high < 0) && std::abs(nearest) >= *high - *low;
    return far ? nearest : T{0};
  }
  const auto first = hn::LoadU(d, g);
  const auto positive = hn::Gt(first, hn::Zero(d));
  const auto negative = hn::Lt(first, hn::Zero(d));
  if (HWY_LIKELY(!hn::AllTrue(d, positive) && !hn::AllTrue(d, negative))) return 0;
  const T low = hn::GetLane(hn::MinOfLanes(d, first));
  const T high = hn::GetLane(hn::MaxOfLanes(d, first));
  const T nearest = low > 0 ? low : high;
  return std::abs(nearest) >= high - low && high - low < std::numeric_limits<T>::max() ? nearest
                                                                                       : T{0};
}

/// Writes the requested gradients of a row, block by block, from the means of its segments.
template <class T, LamGradient kLam>
class GradientWriter {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr std::int32_t kLanes = hn::MaxLanes(D());
  /// Number of blocks whose terms are added in T.
  static constexpr std::int32_t kBlocksTogether = 16;

 public:
  HWY_INLINE GradientWriter(const GradientRows<T>& rows, std::int64_t row) noexcept
      : g_(rows.g + row * rows.g_pitch),
        grad_x_(rows.grad_x == nullptr ? nullptr : rows.grad_x + row * rows.grad_x_pitch),
        edges_(kLam == LamGradient::edges ? rows.edge_lam + row * rows.edge_lam_pitch : nullptr),
        n_(rows.n),
        sharp_(rows.sharp) {}

  /// A block of means; `single` are segments of one sample.
  struct Block {
    V means;
    M single;
    M up;
    M down;
  };

  template <bool kWhole>
  HWY_INLINE void write(const Block& block) noexcept {
    const D d;
    const std::int32_t count = kWhole ? kLanes : n_ - at_;
    if (grad_x_ != nullptr) write_x(block, count);
    if constexpr (kLam != LamGradient::none) {
      const V fall = hn::Sub(lanes_before(d, before_, block.means), block.means);
      before_ = block.means;
      if constexpr (kLam == LamGradient::row) {
        lam_ = hn::IfThenElse(block.up, hn::Add(lam_, fall), lam_);
        lam_ = hn::IfThenElse(block.down, hn::Sub(lam_, fall), lam_);
        if (sizeof(T) < sizeof(double) && ++together_ == kBlocksTogether) settle();
      } else {
        write_edges(hn::IfThenElse(block.down, hn::Neg(fall), hn::IfThenElseZero(block.up, fall)),
                    count);
      }
    }
    at_ += kLanes;
  }

  /// The gradient of the row's lam.
  HWY_INLINE double lam() noexcept {
    settle();
    return sharp_ ? -row_lam_ : row_lam_;
  }

 private:
  HWY_INLINE void write_x(const Block& block, std::int32_t count) noexcept {
    const D d;
    V x = block.means;
    if (sharp_) {  // 2 g minus the gradient through the prox
      const V g = load_before(d, g_ + at_, count);
      x = hn::IfThenElse(block.single, g, hn::Add(g, hn::Sub(g, x)));
    }
    store_before(d, x, grad_x_ + at_, count);
  }

  /// `terms` are those of the edges before the samples.
  HWY_INLINE void write_edges(V terms, std::int32_t count) noexcept {
    const D d;
    if (sharp_) terms = hn::Sub(hn::Zero(d), terms);
    if (at_ > 0) return store_before(d, terms, edges_ + at_ - 1, count);
    HWY_ALIGN T lanes[kLanes];
    hn::Store(terms, d, lanes);
    std::copy(lanes + 1, lanes + std::min(kLanes, count), edges_);
  }

  HWY_INLINE void settle() noexcept {
    row_lam_ += sum_of(lam_);
    lam_ = hn::Zero(D());
    together_ = 0;
  }
  static HWY_INLINE double sum_of(V v) noexcept {
    BlockSum<T> sum;
    sum.add(v);
    return static_cast<double>(sum.plus(T{0}));
  }

  const T* g_;
  T* grad_x_;
  T* edges_;
  std::int32_t n_;
  bool sharp_;
  std::int32_t at_ = 0;
  std::int32_t together_ = 0;
  double row_lam_ = 0;
  V lam_ = hn::Zero(D());
  V before_ = hn::Zero(D());
};

/// Computes for each lane the sum over its segment within the block, up to and including the lane.
template <int kFirst, int kLast, class D>
HWY_INLINE hn::Vec<D> lengthen_sums(D d, hn::Vec<D> sum, const SegmentSets<hn::MaxLanes(D())>& sets,
                                    std::int32_t b) noexcept {
  if constexpr (kFirst < kLast) {
    const auto joined = block_mask(d, sets.joined[kFirst], b);
    const auto before = LaneShifts<D, kLast>::shift(sum, kFirst);
    sum = hn::Add(sum, hn::IfThenElseZero(joined, before));
    return lengthen_sums<kFirst + 1, kLast>(d, sum, sets, b);
  } else {
    return sum;
  }
}

/// Steps through the blocks of rows. Groups are read one ahead, so that nothing waits for them, and
/// the previous one is kept for blocks not yet written.
template <std::int32_t kLanes, bool kSigns>
class BlockReader {
 public:
  using Sets = SegmentSets<kLanes>;

  HWY_INLINE BlockReader(const std::uint32_t* words, std::int64_t rows, std::int32_t n) noexcept
      : reader_(words, rows, n) {
    reader_.template read<kSigns>(groups_[0]);
    reader_.template read<kSigns>(groups_[1]);
  }

  /// The group of the current block.
  [[nodiscard]] HWY_INLINE const Sets& sets() const noexcept { return *sets_; }

  /// Steps over a block; returns the index of the next one in its group.
  HWY_INLINE std::int32_t step(std::int32_t b) noexcept {
    if (HWY_LIKELY(b + 1 < Sets::kBlocks)) return b + 1;
    sets_ = &groups_[current_ = (current_ + 1) % 3];
    reader_.template read<kSigns>(groups_[(current_ + 1) % 3]);
    return 0;
  }

 private:
  SegmentReader<kLanes> reader_;
  Sets groups_[3];
  std::int32_t current_ = 0;
  const Sets* sets_ = groups_;
};

/// Averages the blocks of a row.
template <class T, LamGradient kLam>
class RowAverager {
  using D = hn::ScalableTag<T>;
  using DC = CountTag<D>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  using Writer = GradientWriter<T, kLam>;
  static constexpr std::int32_t kLanes = hn::MaxLanes(D());
  static constexpr bool kSigns = kLam != LamGradient::none;
  using Sets = SegmentSets<kLanes>;
  using Reader = BlockReader<kLanes, kSigns>;

 public:
  HWY_INLINE RowAverager(const GradientRows<T>& rows, std::int64_t row, T* quotients) noexcept
      : g_(rows.g + row * rows.g_pitch),
        n_(rows.n),
        origin_(hn::Set(D(), choose_origin(g_, n_))),
        writer_(rows, row),
        quotients_(quotients) {}

  /// `b` is the index of the first block in its group; returns that of the one after the last.
  HWY_INLINE std::int32_t run(Reader& reader, std::int32_t b) noexcept {
    for (std::int32_t i = 0; i < n_;) {
      const Sets& sets = reader.sets();
      const std::int32_t ended = count_ended_blocks(sets, b, (n_ - i) / kLanes);
      if (HWY_LIKELY(ended > 0)) {
        average_blocks(sets, i, b, ended);
        i += ended * kLanes;
        b = reader.step(b + ended - 1);
        continue;
      }
      if (block_bits<kLanes>(sets.ends, b) == 0) {
        b = sum_whole_blocks(reader, i, b);
        i += whole_.count * kLanes;
      }
      const V x = load_before(D(), g_ + i, n_ - i);
      place(x, divide_sums<Sets::kReaches, false>(x, reader.sets(), b), reader.sets(), b);
      i += kLanes;
      b = reader.step(b);
    }
    writer_.template write<false>(waiting_);
    return b;
  }

  HWY_INLINE double lam() noexcept { return writer_.lam(); }

 private:
  /// How many blocks of the group, from b on and at most `count`, have an end.
  static HWY_INLINE std::int32_t count_ended_blocks(const Sets& sets, std::int32_t b,
                                                    std::int32_t count) noexcept {
    count = std::min(count, Sets::kBlocks - b);
    if (HWY_LIKELY(!sets.has_whole_blocks)) return count;
    std::int32_t k = 0;
    while (k < count && block_bits<kLanes>(sets.ends, b + k) != 0) ++k;
    return k;
  }

  /// Full blocks, each of which has an end of a segment. All are divided before the first is
  /// placed: the processor can then overlap more of them, and nothing waits for a division.
  HWY_INLINE void average_blocks(const Sets& sets, std::int32_t i, std::int32_t b,
                                 std::int32_t count) noexcept {
    if (sets.has_long_reach) {
      divide_blocks<Sets::kReaches>(sets, i, b, count);
    } else {
      divide_blocks<std::min(Sets::kReaches, 2)>(sets, i, b, count);
    }
    const D d;
    for (std::int32_t k = 0; k < count; ++k) {
      place(hn::LoadU(d, g_ + i + k * kLanes), hn::Load(d, quotients_ + k * kLanes), sets, b + k);
    }
  }

  template <int kReaches>
  HWY_INLINE void divide_blocks(const Sets& sets, std::int32_t i, std::int32_t b,
                                std::int32_t count) noexcept {
    const D d;
    for (std::int32_t k = 0; k < count; ++k) {
      const V x = hn::LoadU(d, g_ + i + k * kLanes);
      hn::Store(divide_sums<kReaches, true>(x, sets, b + k), d, quotients_ + k * kLanes);
    }
  }

  /// The blocks in between, which are part of one segment.
  struct WholeBlocks {
    std::int32_t count;
    M up;  // the jump at the first
    M down;
  };

  HWY_INLINE std::int32_t sum_whole_blocks(Reader& reader, std::int32_t i,
                                           std::int32_t b) noexcept {
    const D d;
    whole_ = {0, no_lanes(), no_lanes()};
    const bool from_start = block_bits<kLanes>(reader.sets().starts, b) != 0;
    if (kSigns && from_start) {
      whole_.up = block_mask(d, reader.sets().up, b);
      whole_.down = block_mask(d, reader.sets().down, b);
    }
    BlockSum<T> sum;
    do {
      sum.add(hn::Sub(hn::LoadU(d, g_ + i), origin_));
      i += kLanes;
      ++whole_.count;
      b = reader.step(b);
    } while (block_bits<kLanes>(reader.sets().ends, b) == 0);
    const DC dc;
    const auto count = hn::Set(dc, static_cast<hn::TFromD<DC>>(whole_.count * kLanes));
    open_sum_ = hn::Set(d, sum.plus(from_start ? T{0} : hn::GetLane(open_sum_)));
    open_count_ = from_start ? count : hn::Add(open_count_, count);
    return b;
  }

  /// Means, at the ends of segments.
  template <int kReaches, bool kBelowTwoBlocks>
  HWY_INLINE V divide_sums(V x, const Sets& sets, std::int32_t b) noexcept {
    const D d;
    const DC dc;
    const V sum = lengthen_sums<0, kReaches>(d, hn::Sub(x, origin_), sets, b);
    const auto place = count_places(d, sets, b);
    const M continued = block_mask(d, sets.continued, b);
    const V all = hn::IfThenElse(continued, hn::Add(sum, open_sum_), sum);
    const auto count =
        hn::IfThenElse(hn::RebindMask(dc, continued), hn::Add(place, open_count_), place);
    open_sum_ = broadcast_last(d, sum);
    open_count_ = broadcast_last(dc, place);
    return hn::Add(divide<kBelowTwoBlocks>(d, all, count), origin_);
  }

  /// Copies means to the lanes of their segments, including those of the blocks before.
  HWY_INLINE void place(V x, V quotients, const Sets& sets, std::int32_t b) noexcept {
    const D d;
    const V mean = hn::TableLookupLanes(quotients, hn::IndicesFromVec(d, find_ends(d, sets, b)));
    const V first = hn::Set(d, hn::GetLane(mean));
    if (HWY_LIKELY(waits_)) {
      waiting_.means = hn::IfThenElse(open_, first, waiting_.means);
      writer_.template write<true>(waiting_);
    }
    if (HWY_UNLIKELY(whole_.count > 0)) write_whole_blocks(first);
    waiting_.single = block_mask(d, sets.single, b);
    waiting_.means = hn::IfThenElse(waiting_.single, x, mean);
    if constexpr (kSigns) {
      waiting_.up = block_mask(d, sets.up, b);
      waiting_.down = block_mask(d, sets.down, b);
    }
    open_ = block_mask(d, sets.open, b);
    waits_ = true;
  }

  HWY_INLINE void write_whole_blocks(V mean) noexcept {
    writer_.template write<true>({mean, no_lanes(), whole_.up, whole_.down});
    for (; whole_.count > 1; --whole_.count) {
      writer_.template write<true>({mean, no_lanes(), no_lanes(), no_lanes()});
    }
    whole_.count = 0;
  }

  static HWY_INLINE M no_lanes() noexcept { return hn::MaskFromVec(hn::Zero(D())); }

  const T* g_;
  std::int32_t n_;
  V origin_;
  Writer writer_;
  V open_sum_ = hn::Zero(D());  // of the segment that continues after the block
  hn::Vec<DC> open_count_ = hn::Zero(DC());
  WholeBlocks whole_ = {0, no_lanes(), no_lanes()};
  bool waits_ = false;  // whether a block waits for the mean of its open segment
  M open_ = no_lanes();
  typename Writer::Block waiting_ = {hn::Zero(D()), no_lanes(), no_lanes(), no_lanes()};
  T* quotients_;  // of a group's blocks
};

template <LamGradient kLam, class T>
HWY_INLINE void average_rows(const GradientRows<T>& rows) noexcept {
  constexpr std::int32_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  BlockReader<kLanes, kLam != LamGradient::none> reader(rows.words, rows.count, rows.n);
  const auto words = static_cast<std::int32_t>(partition_words(rows.n));
  const std::int32_t unused = words * (kCodesPerWord / kLanes) - (rows.n + kLanes - 1) / kLanes;
  HWY_ALIGN T quotients[kGroupWords * kCodesPerWord];
  std::int32_t b = 0;
  for (std::int64_t row = 0; row < rows.count; ++row) {
    RowAverager<T, kLam> averager(rows, row, quotients);
    b = averager.run(reader, b);
    if constexpr (kLam == LamGradient::row) rows.row_lam[row] = averager.lam();
    for (std::int32_t i = 0; i < unused; ++i) b = reader.step(b);
  }
}

template <class T>
void average(const GradientRows<T>& rows, LamGradient lam) noexcept {
  switch (lam) {
    case LamGradient::none: return average_rows<LamGradient::none>(rows);
    case LamGradient::row: return average_rows<LamGradient::row>(rows);
    case LamGradient::edges: return average_rows<LamGradient::edges>(rows);
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
