// The derivative of passes over lines: means over the segments of many lines at once, one line per
// lane. Per-target.
#if defined(TAUTSTRING_LINE_AVERAGE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_LINE_AVERAGE_INL_H_
#undef TAUTSTRING_LINE_AVERAGE_INL_H_
#else
#define TAUTSTRING_LINE_AVERAGE_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/line_pass.h"
#include "cpu/vector/line_tiles-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

template <class T>
class LineAverage : LaneWords<T> {
  using Words = LaneWords<T>;
  using typename Words::D;
  using typename Words::M;
  using typename Words::TU;
  using typename Words::VU;
  using Words::d;
  using Words::du;
  using Words::has;
  using Words::kLanes;
  using V = hn::Vec<D>;

 public:
  /// x and mean: sample k of lane l is at k * kLanes + l; words likewise.
  HWY_INLINE LineAverage(std::int32_t n, const T* x, T* mean, std::uint32_t* words) noexcept
      : n_(n),
        x_(x),
        mean_(mean),
        starts_(words),
        ups_(words + line_words(n) * kLanes),
        downs_(words + 2 * line_words(n) * kLanes) {}

  HWY_INLINE void load_codes(const std::uint32_t* codes, std::int32_t count) noexcept {
    load_codes_of_lanes<T>(codes, count, partition_words(n_), starts_, ups_, downs_);
  }

  /// Whether any sample continues a segment.
  [[nodiscard]] HWY_INLINE bool has_ties() const noexcept {
    VU missing = hn::Zero(du);
    for (std::int32_t word = 0; word < line_words(n_); ++word) {
      const int samples = std::min(n_ - word * kSamplesPerWord, kSamplesPerWord);
      const VU all = hn::Set(du, TU{0xFFFFFFFFU >> (kSamplesPerWord - samples)});
      missing = hn::Or(missing, hn::AndNot(Words::load(starts_, word), all));
    }
    return !hn::AllTrue(du, hn::Eq(missing, hn::Zero(du)));
  }

  /// Stores the mean of each segment at its last sample; what it stores elsewhere is not used.
  HWY_INLINE void take_means() noexcept {
    const V one = hn::Set(d, T{1});
    const V none = hn::Set(d, T{-0.0});  // a sample alone keeps its bits, those of -0 too
    V before = none;                     // the sum of the segment in words before
    V sum = none;                        // and in this one: long sums stay accurate
    V length = hn::Zero(d);
    for (std::int32_t word = 0; word < line_words(n_); ++word) {
      const std::int32_t end = std::min((word + 1) * kSamplesPerWord, n_);
      const VU starts = Words::load(starts_, word);
      VU bit = hn::Set(du, TU{1});
      for (std::int32_t k = word * kSamplesPerWord; k < end; ++k) {
        const M start = has(starts, bit);
        before = hn::IfThenElse(start, none, before);
        sum = add_or_start(d, start, sum, hn::Load(d, x_ + k * kLanes));
        length = add_or_start(d, start, length, one);
        hn::Store(hn::Div(hn::Add(before, sum), length), d, mean_ + k * kLanes);
        bit = hn::Add(bit, bit);
      }
      before = hn::Add(before, sum);
      sum = none;
    }
  }

  /// Spreads the means over their segments. If kAddsLam, adds the gradients of the lams times
  /// `sign` to lam[l], l < count: of each edge the fall of the mean at a jump up, its rise at a
  /// jump down.
  template <bool kAddsLam>
  HWY_INLINE void spread(T sign, std::int32_t count, double* lam) noexcept {
    const M none = hn::MaskFromVec(hn::Zero(d));
    V value = hn::Zero(d);
    M end = hn::Not(none);
    M up = none;  // after the sample
    M down = none;
    for (std::int32_t word = line_words(n_) - 1; word >= 0; --word) {
      const std::int32_t begin = word * kSamplesPerWord;
      const std::int32_t last = std::min(begin + kSamplesPerWord, n_) - 1;
      const VU starts = Words::load(starts_, word);
      const VU ups = Words::load(ups_, word);
      const VU downs = Words::load(downs_, word);
      VU bit = hn::Set(du, static_cast<TU>(TU{1} << (last - begin)));
      V rises = hn::Zero(d);  // sums of falls at jumps up, and down: neither waits for the other
      V falls = hn::Zero(d);
      for (std::int32_t k = last; k >= begin; --k) {
        const V after = value;
        value = hn::IfThenElse(end, hn::Load(d, mean_ + k * kLanes), value);
        hn::Store(value, d, mean_ + k * kLanes);
        end = has(starts, bit);
        if constexpr (kAddsLam) {
          const V fall = hn::Sub(value, after);
          rises = add_in_lanes(d, up, rises, fall);
          falls = add_in_lanes(d, down, falls, fall);
          up = has(ups, bit);
          down = has(downs, bit);
        }
        bit = hn::ShiftRight<1>(bit);
      }
      if constexpr (kAddsLam) add_lam(sign, hn::Sub(rises, falls), count, lam);
    }
  }

  /// Stores the gradients of the lams by edge: that of the edge before sample k at (k - 1) *
  /// kLanes.
  HWY_INLINE void store_edge_lam(T* lam) const noexcept {
    V before = hn::Load(d, mean_);
    for (std::int32_t word = 0; word < line_words(n_); ++word) {
      const std::int32_t begin = word * kSamplesPerWord;
      const std::int32_t end = std::min(begin + kSamplesPerWord, n_);
      const VU ups = Words::load(ups_, word);
      const VU downs = Words::load(downs_, word);
      VU bit = hn::Set(du, TU{1});
      for (std::int32_t k = begin; k < end; ++k) {
        const V mean = hn::Load(d, mean_ + k * kLanes);
        const V fall = hn::Sub(before, mean);
        const V up = hn::IfThenElseZero(has(ups, bit), fall);
        const V term = hn::Sub(up, hn::IfThenElseZero(has(downs, bit), fall));
        if (k > 0) hn::Store(term, d, lam + (k - 1) * kLanes);
        before = mean;
        bit = hn::Add(bit, bit);
      }
    }
  }

 private:
  static HWY_INLINE void add_lam(T sign, V sum, std::int32_t count, double* lam) noexcept {
    HWY_ALIGN T lanes[kLanes];
    hn::Store(sum, d, lanes);
    for (std::int32_t lane = 0; lane < count; ++lane) {
      lam[lane] += static_cast<double>(sign * lanes[lane]);
    }
  }

  const std::int32_t n_;
  const T* x_;
  T* mean_;
  std::uint32_t* starts_;
  std::uint32_t* ups_;
  std::uint32_t* downs_;
};

/// Takes groups [first, last) of the lines; returns whether any of them has a tie.
template <class T>
bool average_lines(const LineAverages<T>& pass, std::int64_t first, std::int64_t last) noexcept {
  constexpr std::int32_t kLanes = LineTiles<T>::kLanes;
  const std::int32_t n = pass.shape.n;
  T* x = pass.tile;
  T* mean = x + std::int64_t{n} * kLanes;
  auto* words = reinterpret_cast<std::uint32_t*>(mean + std::int64_t{n} * kLanes);
  bool any_ties = false;
  for (std::int64_t group = first; group < last; ++group) {
    const LineTiles<T> tiles(pass.shape, group);
    tiles.load(pass.in, x);
    LineAverage<T> average(n, x, mean, words);
    average.load_codes(pass.codes + tiles.first() * partition_words(n), tiles.count());
    any_ties = average.has_ties() || any_ties;
    average.take_means();
    if (pass.lam != nullptr) {
      average.template spread<true>(pass.lam_sign, tiles.count(), pass.lam + tiles.first());
    } else {
      average.template spread<false>(0, 0, nullptr);
    }
    if (pass.edge_lam != nullptr) {
      average.store_edge_lam(x);  // the samples are not needed again
      const auto sign = pass.lam_sign;
      LineTiles<T>(pass.edges, group)
          .store(
              x,
              [&](auto d, std::int64_t at, auto term) HWY_ATTR {
                const auto sum = hn::LoadU(d, pass.edge_lam + at);
                hn::StoreU(hn::Add(sum, hn::Mul(hn::Set(d, sign), term)), d, pass.edge_lam + at);
              },
              [&](std::int64_t at, T term) { pass.edge_lam[at] += sign * term; });
    }
    tiles.store(
        mean,
        [&](auto d, std::int64_t at, auto value) HWY_ATTR {
          auto out = value;
          if (pass.sum != nullptr) {
            out = hn::Sub(hn::LoadU(d, pass.in + at), value);
            const auto sum = hn::LoadU(d, pass.sum + at);
            hn::StoreU(hn::Add(sum, hn::Mul(hn::Set(d, pass.sign), out)), d, pass.sum + at);
          }
          hn::StoreU(out, d, pass.out + at);
        },
        [&](std::int64_t at, T value) { store_average(pass, at, value); });
  }
  return any_ties;
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
