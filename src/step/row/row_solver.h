// Solves one contiguous row in float64. Knows no dtypes, strides or threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "step/host_device.h"
#include "step/prefix_sums.h"
#include "step/row/scaling.h"
#include "step/row/scratch.h"
#include "step/row/segment_walk.h"
#include "step/segment.h"
#include "step/taut_string.h"
#include "tautstring/tv1d.h"

namespace tautstring::detail {

/// The properties of a row; its values are in scratch.x and, if used, scratch.weight and
/// scratch.lam.
struct RowProblem {
  std::int32_t n = 0;
  bool weighted = false;
  bool per_edge = false;  // lam is in scratch.lam
  double lam = 0;         // lam if not per_edge
  Mode mode = Mode::smooth;
};

class RowSolver {
 public:
  TAUTSTRING_HOST_DEVICE explicit RowSolver(const RowScratch& scratch) noexcept : s_(scratch) {}

  /// Writes the result to scratch.y and scratch.codes; destroys the inputs.
  TAUTSTRING_HOST_DEVICE void solve(const RowProblem& row) noexcept;

  /// Writes the result of a row without a solution there.
  TAUTSTRING_HOST_DEVICE void fill_nan(std::int32_t n) noexcept;

  /// Number of elements read, and of points pushed to and popped from the string's chains, since
  /// this solver was created: the measure of work that is proven linear.
  [[nodiscard]] constexpr std::int64_t steps() const noexcept { return steps_; }

 private:
  template <class Lams>
  TAUTSTRING_HOST_DEVICE void solve_scaled(const Lams& lams, bool weighted,
                                           std::int32_t count) noexcept;
  TAUTSTRING_HOST_DEVICE std::int32_t drop_missing(const RowProblem& row) noexcept;
  TAUTSTRING_HOST_DEVICE void restore_missing(const RowProblem& row, std::int32_t present) noexcept;

  const RowScratch& s_;
  std::int64_t steps_ = 0;
};

/// Segments longer than this are summed a second time, around their value: the
/// rounding of the first sum grows with the length, that of the second does not.
inline constexpr std::int32_t kRefinedLength = 64;

struct UnitWeights {
  [[nodiscard]] constexpr double operator[](std::int32_t /*i*/) const noexcept { return 1; }
};

/// Computes the solution on every segment, by one summation from left to right, whichever code
/// found the segments, so that the same partition gives the same bits.
template <class Weights, class Lams>
TAUTSTRING_HOST_DEVICE void fill_values(const double* x, Weights weights, Lams lams,
                                        const Code* codes, std::int32_t count, double* y) {
  for_each_segment(codes, count, [&](const SegmentSpan& s) {
    double width = 0;
    const auto sum_around = [&](double origin) {
      double sum = 0;
      for (std::int32_t i = s.first; i < s.last; ++i) sum += weights[i] * (x[i] - origin);
      return sum;
    };
    for (std::int32_t i = s.first; i < s.last; ++i) width += weights[i];
    const double borders =
        border_term<double>(lams, s.first - 1, s.left_sign, s.last - 1, s.right_sign);
    double value = segment_value(x[s.first], sum_around(x[s.first]), borders, width);
    if (s.last - s.first > kRefinedLength) {
      value = segment_value(value, sum_around(value), borders, width);
    }
    const double left_value = s.first == 0 ? value : y[s.first - 1];
    std::fill(y + s.first, y + s.last, respect_jump(value, left_value, s.left_sign));
  });
}

/// Builds the points of the tube from a row that may be weighted, and passes the tube to `use`.
template <class Lams, class Use>
TAUTSTRING_HOST_DEVICE void with_tube(const RowScratch& s, bool weighted, std::int32_t count,
                                      const Lams& lams, Use use) {
  const double* x = s.x;
  if (!weighted) {
    PlainSums<double> sums{s.y};
    sums.start();
    for (std::int32_t i = 0; i < count; ++i) sums.append(i, x[i] - x[0]);
    return use(Tube<double, PlainSums<double>, UnitSums<double>, Lams>{sums, {}, lams, count});
  }
  using Sums = CompensatedSums<double>;
  Sums sums{s.y, s.sum_error, s.sum_rest};
  Sums widths{s.width, s.width_error, s.width_rest};
  sums.start();
  widths.start();
  for (std::int32_t i = 0; i < count; ++i) {
    sums.append(i, s.weight[i] * (x[i] - x[0]));
    widths.append(i, s.weight[i]);
  }
  use(Tube<double, Sums, Sums, Lams>{sums, widths, lams, count});
}

TAUTSTRING_HOST_DEVICE inline void RowSolver::solve(const RowProblem& row) noexcept {
  const std::int32_t count = row.weighted ? drop_missing(row) : row.n;
  const double size = largest_size(s_.x, count);
  steps_ += count;
  if (count == 0 || !std::isfinite(size)) return fill_nan(row.n);

  const double scale = choose_scale(size);
  const double weight_scale =
      row.weighted ? choose_scale(*std::max_element(s_.weight, s_.weight + count)) : 1;
  multiply(s_.x, count, scale);
  if (row.weighted) multiply(s_.weight, count, weight_scale);
  if (row.per_edge) {
    for (std::int32_t e = 0; e + 1 < count; ++e) {
      s_.lam[e] = scale_lam(s_.lam[e], scale, weight_scale);
    }
    solve_scaled(EdgeLam<double>{s_.lam}, row.weighted, count);
  } else {
    solve_scaled(UniformLam<double>{scale_lam(row.lam, scale, weight_scale)}, row.weighted, count);
  }
  // Rounding must not overflow float64: the solution is nowhere larger than the samples.
  if (scale < 1) limit_sizes(row.weighted ? s_.compact : s_.y, count, size * scale);

  if (row.weighted) {
    restore_missing(row, count);
  } else if (row.mode == Mode::sharp) {
    for (std::int32_t i = 0; i < count; ++i) s_.y[i] = mirror(s_.x[i], s_.y[i]);
  }
  multiply(s_.y, row.n, 1 / scale);
}

/// Finds the segments and their values, among present samples only: in the `compact` arrays for a
/// weighted row, else in the result itself.
template <class Lams>
TAUTSTRING_HOST_DEVICE void RowSolver::solve_scaled(const Lams& lams, bool weighted,
                                                    std::int32_t count) noexcept {
  Code* codes = weighted ? s_.compact_codes : s_.codes;
  std::fill(codes, codes + count, Code::continues);
  codes[0] = Code::plain;
  with_tube(s_, weighted, count, lams, [&](const auto& tube) {
    steps_ += count + pull_taut_string<double>(tube, s_.lower, s_.upper,
                                               [&](std::int32_t k, Code code) { codes[k] = code; });
  });
  // The string passes through a tube without width straight or bent; either way
  // the two sides are apart.
  for (std::int32_t e = 0; e + 1 < count; ++e) {
    if (lams[e] == 0 && codes[e + 1] == Code::continues) codes[e + 1] = Code::plain;
  }
  if (weighted) {
    fill_values(s_.x, static_cast<const double*>(s_.weight), lams, codes, count, s_.compact);
  } else {
    fill_values(s_.x, UnitWeights{}, lams, codes, count, s_.y);
  }
  steps_ += 2 * std::int64_t{count};
}

/// Moves present samples together. Between two of them there is one edge with the smallest lam of
/// the edges it replaces. Missing samples before the last edge with that lam belong to the left
/// sample, those after it to the right one.
TAUTSTRING_HOST_DEVICE inline std::int32_t RowSolver::drop_missing(const RowProblem& row) noexcept {
  std::int32_t count = 0;
  std::int32_t smallest = 0;  // edge with the smallest lam since the last present sample
  for (std::int32_t i = 0; i < row.n; ++i) {
    const std::int32_t edge = i - 1;
    const bool restart = count == 0 || s_.present[count - 1] == edge;
    if (restart || !row.per_edge || s_.lam[edge] <= s_.lam[smallest]) smallest = edge;
    if (s_.weight[i] == 0) continue;
    s_.present[count] = i;
    s_.first_covered[count] = count == 0 ? 0 : smallest + 1;
    if (count > 0 && row.per_edge) s_.lam[count - 1] = s_.lam[smallest];
    s_.x[count] = s_.x[i];
    s_.weight[count] = s_.weight[i];
    ++count;
  }
  s_.first_covered[count] = row.n;
  return count;
}

TAUTSTRING_HOST_DEVICE inline void RowSolver::restore_missing(const RowProblem& row,
                                                              std::int32_t present) noexcept {
  for (std::int32_t j = 0; j < present; ++j) {
    const std::int32_t first = s_.first_covered[j];
    const std::int32_t last = s_.first_covered[j + 1];
    std::fill(s_.y + first, s_.y + last, s_.compact[j]);
    std::fill(s_.codes + first, s_.codes + last, Code::continues);
    s_.codes[first] = s_.compact_codes[j];
    // A missing sample has no value to sharpen.
    if (row.mode == Mode::sharp) {
      s_.y[s_.present[j]] = mirror(s_.x[j], s_.compact[j]);
    }
  }
}

TAUTSTRING_HOST_DEVICE inline void RowSolver::fill_nan(std::int32_t n) noexcept {
  std::fill(s_.y, s_.y + n, std::numeric_limits<double>::quiet_NaN());
  std::fill(s_.codes, s_.codes + n, Code::continues);
  if (n > 0) s_.codes[0] = Code::plain;
}

}  // namespace tautstring::detail
