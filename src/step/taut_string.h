// The taut string: the exact 1D solution in linear time, whatever the data.
// Shared by host and device; knows only the tube it is pulled through.
//
// Draw the running sums of weight * x over the running sums of weight. A
// solution is a string through the tube of half-width lam around those points,
// from the first to the last, pulled taut; its slope is y. Pulled taut means
// that it follows the upper envelope of the tube's floor (a concave chain,
// `lower`) or the lower envelope of its ceiling (a convex chain, `upper`), and
// both start where the string was last fixed. A new point joins both chains at
// their ends, popping what it hides. Only when a chain has shrunk to one piece
// can that piece cross the other chain's first piece; then the string is fixed
// along the latter (Davies and Kovac, Ann. Statist. 29, 2001; the chains keep
// points of one fixed set, so no rounding error builds up along a row).
//
// Cost: every point is pushed once on each chain and popped at most once, at
// either end: at most 4 m pushes and pops.
#pragma once

#include <cstdint>

#include "tautstring/partition.h"

namespace tautstring::detail {

/// Half-width of the tube after element k: one number, or one per edge.
template <class T>
struct UniformLam {
  T lam;
  [[nodiscard]] constexpr T operator[](std::int32_t /*edge*/) const noexcept { return lam; }
};

template <class T>
struct EdgeLam {
  const T* lam;
  [[nodiscard]] constexpr T operator[](std::int32_t edge) const noexcept { return lam[edge]; }
};

/// The tube of a row of `length` elements. Point k is after the first k elements; the tube has no
/// width at points 0 and `length`.
template <class T, class Sums, class Widths, class Lams>
struct Tube {
  Sums sums;
  Widths widths;
  Lams lams;
  std::int32_t length;

  [[nodiscard]] constexpr T half_width(std::int32_t k) const noexcept {
    return k == length ? T(0) : lams[k - 1];
  }
};

/// A point on the floor or the ceiling of the tube, or a fixed point of the string.
template <class T>
struct TubePoint {
  std::int32_t k;
  T offset;  // from the running sum
};

/// Compares the slopes a -> b and c -> d without a division: negative, zero or positive if the
/// first is smaller, equal or larger.
template <class T, class TubeType>
[[nodiscard]] constexpr T compare_slopes(const TubeType& tube, TubePoint<T> a, TubePoint<T> b,
                                         TubePoint<T> c, TubePoint<T> d) noexcept {
  const T first_rise = tube.sums.between(a.k, b.k) + (b.offset - a.offset);
  const T second_rise = tube.sums.between(c.k, d.k) + (d.offset - c.offset);
  return first_rise * tube.widths.between(c.k, d.k) - second_rise * tube.widths.between(a.k, b.k);
}

/// One of the two chains. kSide is -1 for `lower`, the chain on the tube's floor, and +1 for
/// `upper`, the one on its ceiling: seen from its own side, each is a chain with increasing slopes.
template <class T, class TubeType, int kSide, class Points>
class Chain {
 public:
  constexpr Chain(const TubeType& tube, Points points) noexcept : tube_(tube), points_(points) {}

  [[nodiscard]] constexpr bool single() const noexcept { return end_ - begin_ == 1; }
  [[nodiscard]] constexpr TubePoint<T> front() const noexcept { return at(points_[begin_]); }
  constexpr void pop_front() noexcept { ++begin_; }

  /// Adds point k to a chain that begins at `start`; returns how many were popped.
  constexpr std::int32_t push(std::int32_t k, TubePoint<T> start) noexcept {
    const std::int32_t before = end_;
    const TubePoint<T> added = at(k);
    while (end_ > begin_) {
      const TubePoint<T> last = at(points_[end_ - 1]);
      const TubePoint<T> previous = end_ - begin_ > 1 ? at(points_[end_ - 2]) : start;
      if (kSide * compare_slopes<T>(tube_, previous, last, last, added) < 0) break;
      --end_;
    }
    const std::int32_t popped = before - end_;
    points_[end_++] = k;
    return popped;
  }

  /// Whether the only piece of this chain, from `start` to the newest point, crosses the first
  /// piece of `other`, so that the string turns there. Measured from the end of that piece, not
  /// from `start`, so that a short last part is not lost in a long one.
  template <class Other>
  [[nodiscard]] constexpr bool crosses(const Other& other, TubePoint<T> start) const noexcept {
    const TubePoint<T> turn = other.front();
    return kSide * compare_slopes<T>(tube_, turn, front(), start, turn) < 0;
  }

 private:
  [[nodiscard]] constexpr TubePoint<T> at(std::int32_t k) const noexcept {
    return {k, kSide * tube_.half_width(k)};
  }

  const TubeType& tube_;
  Points points_;
  std::int32_t begin_ = 0;
  std::int32_t end_ = 0;
};

/// Pulls the string and calls border(k, code) for every element k > 0 that starts a segment, in
/// order. `lower` and `upper` are scratch of `length` elements each, as pointers or pointer-like
/// objects. Ties (a string that touches the tube without bending) make no border. Returns the
/// number of chain pushes and pops.
template <class T, class TubeType, class Points, class Border>
constexpr std::int64_t pull_taut_string(const TubeType& tube, Points lower_points,
                                        Points upper_points, Border&& border) noexcept {
  Chain<T, TubeType, -1, Points> lower(tube, lower_points);
  Chain<T, TubeType, +1, Points> upper(tube, upper_points);
  TubePoint<T> start = {0, T(0)};
  std::int64_t steps = 0;

  const auto fix_along = [&](auto& chain, Code code) {
    start = chain.front();
    chain.pop_front();
    ++steps;
    border(start.k, code);
  };

  for (std::int32_t k = 1; k <= tube.length; ++k) {
    steps += 2 + lower.push(k, start) + upper.push(k, start);
    // After touching the floor the string turns down, after the ceiling up.
    while (upper.single() && !lower.single() && upper.crosses(lower, start)) {
      fix_along(lower, Code::down);
    }
    while (lower.single() && !upper.single() && lower.crosses(upper, start)) {
      fix_along(upper, Code::up);
    }
  }
  // Both chains end in the last point. In exact arithmetic both are single now; if rounding left
  // more pieces, they are on one line up to rounding.
  return steps;
}

}  // namespace tautstring::detail
