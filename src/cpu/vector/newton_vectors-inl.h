// The vocabulary of newton-inl.h and newton_finish-inl.h: numbers of several rows, one row per
// lane. Per-target.
#if defined(TAUTSTRING_NEWTON_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TAUTSTRING_NEWTON_VECTORS_INL_H_
#undef TAUTSTRING_NEWTON_VECTORS_INL_H_
#else
#define TAUTSTRING_NEWTON_VECTORS_INL_H_
#endif

#include <cstdint>

#include "cpu/vector/lanes-inl.h"
#include "cpu/vector/newton_lanes.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

struct NewtonVectors {
  using D = hn::CappedTag<double, kMostNewtonLanes>;
  using V = hn::Vec<D>;
  using M = hn::Mask<D>;
  static constexpr std::int32_t kLanes = hn::MaxLanes(D());

  static HWY_INLINE V at(const double* array, std::int32_t k) noexcept {
    return hn::LoadU(D(), array + std::int64_t{k} * kLanes);
  }
  static HWY_INLINE void put(double* array, std::int32_t k, V value) noexcept {
    hn::StoreU(value, D(), array + std::int64_t{k} * kLanes);
  }
  /// The lanes whose bits are set.
  static HWY_INLINE M at(const std::uint8_t* bits, std::int32_t k) noexcept {
    return hn::LoadMaskBits(D(), bits + k);
  }
  static HWY_INLINE void put(std::uint8_t* bits, std::int32_t k, M lanes) noexcept {
    bits[k] = static_cast<std::uint8_t>(mask_bits(D(), lanes));
  }
  static HWY_INLINE V clipped(V value, V bound) noexcept {
    return hn::Max(hn::Min(value, bound), hn::Neg(bound));
  }
  static HWY_INLINE V half(V value) noexcept { return hn::Mul(value, hn::Set(D(), 0.5)); }
  /// Whether a jump contradicts u at its bound; u > 0 requires a fall.
  static HWY_INLINE M is_made_up(V jump, V u) noexcept {
    return hn::Ge(hn::Mul(jump, u), hn::Zero(D()));
  }
};

/// The lams of rows that have one each.
struct RowLams {
  NewtonVectors::V lam;

  /// After sample k.
  HWY_INLINE NewtonVectors::V at(std::int32_t /*k*/) const noexcept { return lam; }
  /// Of the row of pairs.
  HWY_INLINE RowLams of_pairs(std::int32_t /*n*/) const noexcept {
    return {NewtonVectors::half(lam)};
  }
};

/// The lams of rows with one per edge; there is room for those of the rows of pairs.
struct EdgeLams {
  double* lam;

  HWY_INLINE NewtonVectors::V at(std::int32_t k) const noexcept {
    return NewtonVectors::at(lam, k);
  }
  HWY_INLINE EdgeLams of_pairs(std::int32_t n) const noexcept {
    const EdgeLams pairs = {lam + std::int64_t{n} * NewtonVectors::kLanes};
    for (std::int32_t k = 0; k + 1 < (n + 1) / 2; ++k) {
      NewtonVectors::put(pairs.lam, k, NewtonVectors::half(at(2 * k + 1)));
    }
    return pairs;
  }
};

/// Subtracts offsets and scales; a lane without a row gets one that is solved at once.
inline void scale_lanes(NewtonLanes& rows) noexcept {
  using N = NewtonVectors;
  const N::D d;
  const auto offset = hn::LoadU(d, rows.offset);
  const auto scale = hn::LoadU(d, rows.scale);
  const auto one = hn::Set(d, 1);
  const auto taken = hn::LoadMaskBits(d, &rows.taken);
  const auto is_plain = hn::And(hn::Eq(offset, hn::Zero(d)), hn::Eq(scale, one));
  if (hn::AllTrue(d, hn::And(taken, is_plain))) return;
  for (std::int32_t k = 0; k < rows.n; ++k) {
    const auto x = hn::Mul(hn::Sub(N::at(rows.x, k), offset), scale);
    N::put(rows.x, k, hn::IfThenElseZero(taken, x));
  }
  if (rows.edge_lam == nullptr) return;
  for (std::int32_t k = 0; k + 1 < rows.n; ++k) {
    N::put(rows.edge_lam, k, hn::IfThenElse(taken, N::at(rows.edge_lam, k), one));
  }
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
