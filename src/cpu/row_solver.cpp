#include "cpu/row_solver.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "cpu/scaling.h"
#include "cpu/segment_walk.h"
#include "step/prefix_sums.h"
#include "step/segment.h"
#include "step/taut_string.h"

namespace tautline::detail {
namespace {

/// Segments longer than this are summed a second time, around their value: the
/// rounding of the first sum grows with the length, that of the second does not.
constexpr std::int32_t kRefinedLength = 64;

struct UnitWeights {
  [[nodiscard]] double operator[](std::int32_t /*i*/) const noexcept { return 1; }
};

/// The solution on every segment, by one summation from left to right whoever
/// found the segments, so that the same partition gives the same bits.
template <class Weights, class Lams>
void fill_values(const double* x, Weights weights, Lams lams, const Code* codes, std::int32_t count,
                 double* y) {
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

}  // namespace

void RowSolver::solve(const RowProblem& row) noexcept {
  const std::int32_t count = row.weighted ? drop_missing(row) : row.n;
  double* x = s_.x;
  double* weight = s_.weight;
  double* y = row.weighted ? s_.compact : s_.y;
  Code* codes = row.weighted ? s_.compact_codes : s_.codes;

  const double size = largest_size(x, count);
  steps_ += count;
  if (count == 0 || !std::isfinite(size)) return fill_nan(row.n);

  const double scale = choose_scale(size);
  multiply(x, count, scale);
  double weight_scale = 1;
  if (row.weighted) {
    weight_scale = choose_scale(*std::max_element(weight, weight + count));
    multiply(weight, count, weight_scale);
  }
  const double lam = scale_lam(row.lam, scale, weight_scale);
  if (row.per_edge) {
    for (std::int32_t e = 0; e + 1 < count; ++e) {
      s_.lam[e] = scale_lam(s_.lam[e], scale, weight_scale);
    }
  }

  std::fill(codes, codes + count, Code::continues);
  codes[0] = Code::plain;
  const auto mark = [&](std::int32_t k, Code code) { codes[k] = code; };
  const auto solve_with = [&](const auto& lams) {
    using Lams = std::remove_cvref_t<decltype(lams)>;
    if (row.weighted) {
      CompensatedSums<double> sums{s_.y, s_.sum_error, s_.sum_rest};
      CompensatedSums<double> widths{s_.width, s_.width_error, s_.width_rest};
      sums.start();
      widths.start();
      for (std::int32_t i = 0; i < count; ++i) {
        sums.append(i, weight[i] * (x[i] - x[0]));
        widths.append(i, weight[i]);
      }
      const Tube<double, CompensatedSums<double>, CompensatedSums<double>, Lams> tube{sums, widths,
                                                                                      lams, count};
      steps_ += pull_taut_string<double>(tube, s_.lower, s_.upper, mark);
    } else {
      PlainSums<double> sums{s_.y};
      sums.start();
      for (std::int32_t i = 0; i < count; ++i) sums.append(i, x[i] - x[0]);
      const Tube<double, PlainSums<double>, UnitSums<double>, Lams> tube{sums, {}, lams, count};
      steps_ += pull_taut_string<double>(tube, s_.lower, s_.upper, mark);
    }
    // The string passes through a tube without width straight or bent; either
    // way the two sides are apart.
    for (std::int32_t e = 0; e + 1 < count; ++e) {
      if (lams[e] == 0 && codes[e + 1] == Code::continues) codes[e + 1] = Code::plain;
    }
    if (row.weighted) {
      fill_values(x, static_cast<const double*>(weight), lams, codes, count, y);
    } else {
      fill_values(x, UnitWeights{}, lams, codes, count, y);
    }
    steps_ += 3 * std::int64_t{count};
  };
  if (row.per_edge) {
    solve_with(EdgeLam<double>{s_.lam});
  } else {
    solve_with(UniformLam<double>{lam});
  }

  if (row.weighted) {
    restore_missing(row, count);
  } else if (row.mode == Mode::sharp) {
    for (std::int32_t i = 0; i < count; ++i) y[i] = mirror(x[i], y[i]);
  }
  multiply(s_.y, row.n, 1 / scale);
}

/// Moves present samples together. Between two of them stands one edge with the
/// smallest lam of the edges it replaces; what precedes the last such edge goes
/// with the left sample, what follows it with the right one.
std::int32_t RowSolver::drop_missing(const RowProblem& row) noexcept {
  std::int32_t count = 0;
  std::int32_t smallest = 0;  // edge with the smallest lam since the last present sample
  for (std::int32_t i = 0; i < row.n; ++i) {
    const std::int32_t edge = i - 1;
    const bool restart = count > 0 && s_.present[count - 1] == edge;
    if (restart || edge < 0 || !row.per_edge || s_.lam[edge] <= s_.lam[smallest]) smallest = edge;
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

void RowSolver::restore_missing(const RowProblem& row, std::int32_t present) noexcept {
  for (std::int32_t j = 0; j < present; ++j) {
    const std::int32_t first = s_.first_covered[j];
    const std::int32_t last = s_.first_covered[j + 1];
    std::fill(s_.y + first, s_.y + last, s_.compact[j]);
    std::fill(s_.codes + first, s_.codes + last, Code::continues);
    s_.codes[first] = s_.compact_codes[j];
    // Where there is no sample there is nothing to sharpen.
    if (row.mode == Mode::sharp) {
      s_.y[s_.present[j]] = mirror(s_.x[j], s_.compact[j]);
    }
  }
}

void RowSolver::fill_nan(std::int32_t n) noexcept {
  std::fill(s_.y, s_.y + n, std::numeric_limits<double>::quiet_NaN());
  std::fill(s_.codes, s_.codes + n, Code::continues);
  if (n > 0) s_.codes[0] = Code::plain;
}

}  // namespace tautline::detail
