// The functions of the vector code in plain C++.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cpu/targets.h"
#include "step/direct.h"
#include "step/row/accurate_sum.h"
#include "step/row/row_io.h"
#include "step/row/segment_walk.h"
#include "step/segment.h"

namespace tautstring::detail {
namespace {

template <class T>
void find_jumps(const LaneJobs<T>& jobs, JobEnd end, LaneShape /*shape*/,
                FoundJumps& found) noexcept {
  for_each_job(jobs, [&](const DirectJob<T>& job) {
    const HandedOver rest = end == JobEnd::row ? find_jumps_directly<JobEnd::row>(job, found.codes)
                            : end == JobEnd::piece
                                ? find_jumps_directly<JobEnd::piece>(job, found.codes)
                                : find_jumps_directly<JobEnd::open>(job, found.codes);
    if (rest.sample >= 0) found.handed_over[found.handed_over_count++] = rest;
  });
}

template <class T>
void list_segments(const Code* codes, std::int32_t n, SegmentList<T>& list) noexcept {
  list.count = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    if (codes[i] != Code::continues) list.starts[list.count++] = segment_start(i, codes[i]);
  }
  list.starts[list.count] = segment_start(n, codes[n]);
}

template <class T>
std::int32_t segment_length(const SegmentList<T>& list, std::int32_t s) noexcept {
  return start_sample(list.starts[s + 1]) - start_sample(list.starts[s]);
}

template <class T>
void sum_segments(const T* x, const SegmentList<T>& list) noexcept {
  for (std::int32_t s = 0; s < list.count; ++s) {
    AccurateSum sum;
    const std::int32_t last = start_sample(list.starts[s + 1]);
    for (std::int32_t i = start_sample(list.starts[s]); i < last; ++i) {
      sum.add(static_cast<double>(x[i]));
    }
    list.values[s] = static_cast<T>(sum.value());
  }
}

template <class T>
T lam_behind(const SolvedStretch<T>& row, std::int32_t sample) noexcept {
  if (row.edge_lam != nullptr) return row.edge_lam[sample];
  if (row.row_lam != nullptr) return row.row_lam[sample / row.row_length];
  return row.lam;
}

template <class T>
void sum_with_borders(const SolvedStretch<T>& row, const SegmentList<T>& list) noexcept {
  sum_segments(row.x, list);
  for (std::int32_t s = 0; s < list.count; ++s) {
    const SegmentStart left = list.starts[s];
    const SegmentStart right = list.starts[s + 1];
    const struct {
      const SolvedStretch<T>& row;
      T operator[](std::int32_t edge) const noexcept { return lam_behind(row, edge); }
    } lams{row};
    list.values[s] += border_term<T>(lams, start_sample(left) - 1, jump_sign(start_code(left)),
                                     start_sample(right) - 1, jump_sign(start_code(right)));
  }
}

template <class T>
void divide_by_length(const SegmentList<T>& list) noexcept {
  for (std::int32_t s = 0; s < list.count; ++s) {
    list.values[s] /= static_cast<T>(segment_length(list, s));
  }
}

template <class T>
bool jumps_are_real(const SegmentList<T>& list) noexcept {
  for (std::int32_t s = 1; s < list.count; ++s) {
    const auto sign = static_cast<T>(jump_sign(start_code(list.starts[s])));
    if (sign != 0 && !((list.values[s] - list.values[s - 1]) * sign > 0)) return false;
  }
  return true;
}

template <class T, class Store>
void spread_values(const SegmentList<T>& list, Store store) noexcept {
  for (std::int32_t s = 0; s < list.count; ++s) {
    const std::int32_t last = start_sample(list.starts[s + 1]);
    for (std::int32_t i = start_sample(list.starts[s]); i < last; ++i) store(i, list.values[s]);
  }
}

template <class T>
void finish(const SolvedStretch<T>& row, SegmentList<T>& list) noexcept {
  list_segments(row.codes, row.n, list);
  sum_with_borders(row, list);
  divide_by_length(list);
  if (!jumps_are_real(list)) {
    sum_with_borders(row, list);
    join_segments(list, row.codes);
  }
  spread_values(list, [&](std::int32_t i, T value) {
    row.y[i] = (row.sharp ? mirror(row.x[i], value) : value) + row.offset;
  });
}

struct PackedCodes {
  const std::uint32_t* words;
  Code operator[](std::int32_t i) const noexcept { return code_at(words, i); }
};

template <class T>
double mean_of(const T* g, const SegmentSpan& s) noexcept {
  AccurateSum sum;
  for (std::int32_t i = s.first; i < s.last; ++i) sum.add(static_cast<double>(g[i]));
  return sum.value() / (s.last - s.first);
}

/// Writes the part of a segment in the gradient of x, which may be g itself.
template <class T>
void spread_mean(const GradientRows<T>& rows, const T* g, double mean, const SegmentSpan& s,
                 T* grad_x) noexcept {
  if (s.last - s.first == 1) {  // its own value, in both modes
    grad_x[s.first] = g[s.first];
    return;
  }
  for (std::int32_t i = s.first; i < s.last; ++i) {
    grad_x[i] = static_cast<T>(rows.sharp ? 2 * static_cast<double>(g[i]) - mean : mean);
  }
}

template <class T>
void average(const GradientRows<T>& rows, LamGradient lam) noexcept {
  const int mode_sign = rows.sharp ? -1 : 1;  // sharpening gives the prox -g
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const T* g = rows.g + r * rows.g_pitch;
    double row_lam = 0;
    double left_mean = 0;
    const PackedCodes codes{rows.words + r * partition_words(rows.n)};
    for_each_segment(codes, rows.n, [&](const SegmentSpan& s) {
      const double mean = mean_of(g, s);
      const double term = s.left_sign == 0 ? 0 : mode_sign * s.left_sign * (left_mean - mean);
      left_mean = mean;
      row_lam += term;
      if (lam == LamGradient::edges) {
        T* edges = rows.edge_lam + r * rows.edge_lam_pitch;
        if (s.first > 0) edges[s.first - 1] = static_cast<T>(term);
        std::fill(edges + s.first, edges + s.last - 1, T{0});
      }
      if (rows.grad_x != nullptr) {
        spread_mean(rows, g, mean, s, rows.grad_x + r * rows.grad_x_pitch);
      }
    });
    if (lam == LamGradient::row) rows.row_lam[r] = row_lam;
  }
}

template <class T>
Extent<T> measure(const T* x, std::int32_t n) noexcept {
  Extent<T> result = {x[0], x[0], true};
  for (std::int32_t i = 0; i < n; ++i) {
    result.low = std::min(result.low, x[i]);
    result.high = std::max(result.high, x[i]);
    result.finite = result.finite && std::isfinite(x[i]);
  }
  return result;
}

template <class T>
void measure_rows(const T* x, std::int64_t pitch, std::int32_t rows, std::int32_t n,
                  Extent<T>* extents) noexcept {
  for (std::int32_t r = 0; r < rows; ++r) extents[r] = measure(x + r * pitch, n);
}

template <class T>
void copy_rows(const T* from, std::int64_t step, std::int32_t rows, std::int32_t n, T* to,
               std::int64_t pitch, Extent<T>* extents) noexcept {
  for (std::int32_t r = 0; r < rows; ++r) std::copy_n(from + r * step, n, to + r * pitch);
  measure_rows(to, pitch, rows, n, extents);
}

template <class T>
void gather_columns(const T* from, std::int64_t stride, std::int32_t rows, std::int32_t n, T* to,
                    std::int64_t pitch) noexcept {
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t r = 0; r < rows; ++r) to[r * pitch + i] = from[i * stride + r];
  }
}

template <class T>
void scatter_columns(const T* from, std::int64_t pitch, std::int32_t rows, std::int32_t n, T* to,
                     std::int64_t stride) noexcept {
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t r = 0; r < rows; ++r) to[i * stride + r] = from[r * pitch + i];
  }
}

template <class T>
void repair_lines(const LinePass<T>& pass, std::int64_t first, std::int64_t last) noexcept {
  const LineShape& shape = pass.shape;
  const std::int64_t words = line_words(shape.n);
  for (std::int64_t l = first; l < last; ++l) {
    const std::int64_t at = l * shape.line_step;
    RepairedLine<T> line;
    line.n = shape.n;
    line.x = pass.tile;
    line.y = pass.tile + shape.n;
    line.lam = pass.lams[l];
    line.starts = pass.partitions.starts + l * words;
    line.ups = pass.partitions.ups + l * words;
    for (std::int32_t k = 0; k < shape.n; ++k) pass.tile[k] = pass.in[at + k * shape.sample_step];
    if (pass.is_first) guess_partition(line);
    const bool is_solved = repair(line);
    pass.unsolved[l] = is_solved ? 0 : 1;
    for (std::int32_t k = 0; is_solved && k < shape.n; ++k) {
      store_solution(pass, at + k * shape.sample_step, line.y[k]);
    }
    if (pass.codes == nullptr) continue;
    store_codes(shape.n, line.starts, line.ups, pass.codes + l * partition_words(shape.n));
  }
}

/// As in the vector code: sums in T, a word of samples at a time.
template <class T>
T mean_by_words(const T* x, const SegmentSpan& s) noexcept {
  constexpr T kNone = static_cast<T>(-0.0);  // a sample alone keeps its bits, those of -0 too
  T before = kNone;
  T sum = kNone;
  for (std::int32_t k = s.first; k < s.last; ++k) {
    if (k % kSamplesPerWord == 0) {
      before += sum;
      sum = kNone;
    }
    sum += x[k];
  }
  return (before + sum) / static_cast<T>(s.last - s.first);
}

template <class T>
bool average_lines(const LineAverages<T>& pass, std::int64_t first, std::int64_t last) noexcept {
  const LineShape& shape = pass.shape;
  T* x = pass.tile;
  T* mean = pass.tile + shape.n;
  bool any_ties = false;
  for (std::int64_t l = first; l < last; ++l) {
    const std::int64_t at = l * shape.line_step;
    const PackedCodes codes{pass.codes + l * partition_words(shape.n)};
    for (std::int32_t k = 0; k < shape.n; ++k) x[k] = pass.in[at + k * shape.sample_step];
    for_each_segment(codes, shape.n, [&](const SegmentSpan& s) {
      std::fill(mean + s.first, mean + s.last, mean_by_words(x, s));
    });
    T rises = 0;
    T falls = 0;
    for (std::int32_t k = shape.n - 1; k >= 0; --k) {  // the sample before an edge
      const bool is_last = k + 1 == shape.n;
      const int sign = is_last ? 0 : jump_sign(codes[k + 1]);
      const T fall = sign == 0 ? 0 : mean[k] - mean[k + 1];
      (sign > 0 ? rises : falls) += fall;
      if (pass.edge_lam != nullptr && !is_last) {
        pass.edge_lam[l * pass.edges.line_step + k * pass.edges.sample_step] +=
            pass.lam_sign * (static_cast<T>(sign) * fall);
      }
      if (k % kSamplesPerWord != 0) continue;
      if (pass.lam != nullptr) pass.lam[l] += static_cast<double>(pass.lam_sign * (rises - falls));
      rises = falls = 0;
    }
    for (std::int32_t k = 0; k < shape.n; ++k) {
      any_ties = any_ties || codes[k] == Code::continues;
      store_average(pass, at + k * shape.sample_step, mean[k]);
    }
  }
  return any_ties;
}

template <class T>
constexpr VectorKernels<T> kKernels = {
    .lanes = 1,
    .find_jumps = find_jumps<T>,
    .finish = finish<T>,
    .pack = pack_codes,
    .average = average<T>,
    .copy_rows = copy_rows<T>,
    .measure_rows = measure_rows<T>,
    .columns = {gather_columns<T>, scatter_columns<T>},
    .repair_lines = repair_lines<T>,
    .average_lines = average_lines<T>,
    .line_lanes = 1,
    .load_pixels = load_pixels<T>,
    .store_pixels = store_pixels<T>,
    .add_row_quality = add_row_quality<T>,
    .take_q = take_q<T>,
    .extrapolate = extrapolate<T>,
};

}  // namespace

constinit const CpuTarget kPortableTarget = {
    "portable",
    kKernels<float>,
    kKernels<double>,
    {gather_columns<std::uint16_t>, scatter_columns<std::uint16_t>},
    0,
    nullptr};

}  // namespace tautstring::detail
