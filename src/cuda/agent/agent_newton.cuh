// Projected Newton on one row that fits in a block: from samples in memory to values, codes, dual
// variables and a report in memory.
//
// Mapping: one block per row, several neighbouring samples per thread, in registers during the
// iterations; see step/newton_threads.h. Traffic: x, lam and a start are read once, requested
// results are written once; in mode sharp x is read again. Shared memory: two float64 numbers for
// each sample of the row and of the rows of pairs that it starts from, three with one lam per edge.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/tuning/tuning_newton.h"
#include "cuda/warp/placed_images.cuh"
#include "cuda/warp/placed_rows.cuh"
#include "cuda/warp/row_threads.cuh"
#include "step/image/gap.h"
#include "step/newton_threads.h"
#include "step/row/returned_row.h"
#include "step/row/row_io.h"
#include "step/row_quality.h"
#include "step/segment.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// An array of any type, or none.
template <class Data>
struct NewtonRows {
  Data* data = nullptr;
  DType dtype = DType::float32;
  PlacedRows<const void* const> rows;  // offsets only

  NewtonRows() = default;
  NewtonRows(const BasicRowArray<Data>& array, const Rows& batch) noexcept
      : data(array.given ? array.data : nullptr), dtype(array.dtype), rows(array, batch) {}

  [[nodiscard]] __device__ std::int64_t place(std::int64_t row, std::int32_t i) const noexcept {
    return rows.offset(row) + i * rows.stride;
  }
};

/// The arguments of the kernel.
struct NewtonCall {
  std::int64_t count;
  std::int32_t n;
  NewtonRows<const void> x;
  NewtonRows<const void> lam;
  double lam_number;  // if there is no array
  NewtonRows<const void> start;
  NewtonRows<void> y;
  NewtonRows<void> dual;
  bool sharp;
  bool polish;
  bool wants_quality;
  NewtonOptions options;
  std::uint32_t* partition;  // null: not wanted; the same for the next three
  double* gap;
  std::int32_t* iterations;
  std::uint8_t* converged;
  std::uint8_t* left;  // 1 for rows that are left to another kernel: nothing of them is written
};

/// Size in bytes of the shared memory of a row.
template <int kThreads>
[[nodiscard]] constexpr std::size_t newton_shared_bytes(std::int32_t n, bool by_edge) noexcept {
  const auto samples = static_cast<std::size_t>(newton_samples(n));
  return sizeof(double) * (samples * (by_edge ? 3 : 2) + RowThreads<kThreads>::kSharedDoubles) +
         sizeof(std::uint32_t) * static_cast<std::size_t>(partition_words(n));
}

template <int kThreads, int kItems>
class AgentNewton {
 public:
  __device__ AgentNewton(const NewtonCall& call, void* shared) noexcept
      : call_(call),
        by_edge_(call.lam.data != nullptr && call.lam.rows.size > 1),
        threads_(static_cast<double*>(shared)) {
    const std::int32_t samples = newton_samples(call.n);
    double* numbers = static_cast<double*>(shared) + RowThreads<kThreads>::kSharedDoubles;
    memory_.x = numbers;
    memory_.u = numbers + samples;
    memory_.lam = by_edge_ ? numbers + 2 * samples : nullptr;
    codes_ = reinterpret_cast<std::uint32_t*>(numbers + (by_edge_ ? 3 : 2) * samples);
  }

  __device__ void solve(std::int64_t row) noexcept {
    threads_.sync();  // the previous row may still use shared memory
    const bool is_usual = load(row);
    NewtonThreads<RowThreads<kThreads>, kItems> newton(threads_, memory_, call_.n);
    NewtonOutcome outcome = {};
    if (is_usual) outcome = newton.solve(call_.options, load_start(row));
    const bool is_left = !is_usual || !outcome.is_clean || (call_.polish && !outcome.converged);
    if (threads_.thread() == 0) call_.left[row] = is_left ? 1 : 0;
    if (is_left) return;
    store(row, newton);
    RowQuality quality = {};
    if (call_.wants_quality) {
      const ReturnedRow returned = {call_.y.dtype, call_.sharp, origin_};
      quality = newton.quality_of([&](double mean, double x) {
        return returned.smooth(result(mean, x + origin_), x);  // x + origin_ is the sample, exactly
      });
      outcome.converged = outcome.converged && quality.is_within(call_.options.tol);
    }
    if (threads_.thread() != 0) return;
    if (call_.gap != nullptr) call_.gap[row] = quality.reported_gap();
    if (call_.iterations != nullptr) call_.iterations[row] = outcome.iterations;
    if (call_.converged != nullptr) call_.converged[row] = outcome.converged ? 1 : 0;
  }

 private:
  // Within this range, squares of samples and their products with lams neither overflow nor lose
  // digits by underflow.
  static constexpr double kSmallest = 0x1p-400;
  static constexpr double kLargest = 0x1p400;

  [[nodiscard]] __device__ double sample(std::int64_t row, std::int32_t i) const noexcept {
    return load_as<double>(call_.x.data, call_.x.dtype, call_.x.place(row, i));
  }

  /// Loads the row. Returns whether the search supports all its values.
  __device__ bool load(std::int64_t row) noexcept {
    const double first = sample(row, 0);
    double low = first;
    double high = first;
    bool is_usual = true;
    for (int i = threads_.thread(); i < call_.n; i += kThreads) {
      const double x = sample(row, i);
      memory_.x[i] = x;
      low = fmin(low, x);
      high = fmax(high, x);
      is_usual = is_usual && fabs(x) <= kLargest;  // not NaN
    }
    high = threads_.largest(high);
    low = -threads_.largest(-low);
    origin_ = origin_of(low, high, first);
    if (origin_ != 0) {
      for (int i = threads_.thread(); i < call_.n; i += kThreads) memory_.x[i] -= origin_;
    }
    const double largest = fmax(fabs(low - origin_), fabs(high - origin_));
    is_usual = is_usual && (largest == 0 || largest >= kSmallest);
    memory_.range = high - low;
    // No dual variable exceeds this, and a larger bound would cost digits of the gap.
    const double most = largest > 0 ? 2 * largest * call_.n : 1;
    const auto bounded = [&](double lam) {
      is_usual = is_usual && lam >= kSmallest;
      return fmin(lam, most);
    };
    memory_.row_lam = call_.lam_number;
    if (by_edge_) {
      for (int e = threads_.thread(); e < call_.n - 1; e += kThreads) {
        memory_.lam[e] =
            bounded(load_as<double>(call_.lam.data, call_.lam.dtype, call_.lam.place(row, e)));
      }
    } else if (call_.lam.data != nullptr) {
      memory_.row_lam = load_as<double>(call_.lam.data, call_.lam.dtype, call_.lam.place(row, 0));
    }
    if (!by_edge_) memory_.row_lam = bounded(memory_.row_lam);
    return !threads_.any(!is_usual);
  }

  /// Loads the start. Returns whether there is one and it is finite. A dual variable that was at
  /// its bound must be there again, although it was rounded.
  __device__ bool load_start(std::int64_t row) noexcept {
    if (call_.start.data == nullptr) return false;
    const double unit = unit_of(call_.start.dtype);
    bool is_finite = true;
    for (int e = threads_.thread(); e < call_.n - 1; e += kThreads) {
      const double u =
          load_as<double>(call_.start.data, call_.start.dtype, call_.start.place(row, e));
      is_finite = is_finite && u - u == 0;
      const double bound = by_edge_ ? memory_.lam[e] : memory_.row_lam;
      memory_.u[e] = fabs(u) > bound - unit * bound ? copysign(bound, u) : u;
    }
    return !threads_.any(!is_finite);
  }

  /// The result for a sample, before rounding.
  [[nodiscard]] __device__ double result(double mean, double sample) const noexcept {
    const double smooth = mean + origin_;
    return call_.sharp ? mirror(sample, smooth) : smooth;
  }

  template <class Newton>
  __device__ void store(std::int64_t row, const Newton& newton) noexcept {
    const auto words = static_cast<int>(partition_words(call_.n));
    constexpr auto kPlain = static_cast<std::uint32_t>(Code::plain);
    for (int w = threads_.thread(); w < words; w += kThreads) codes_[w] = w == 0 ? kPlain : 0;
    threads_.sync();
    newton.for_each_result([&](std::int32_t i, double mean, double u, int jump) {
      const double x = call_.sharp ? sample(row, i) : 0;
      store_as(call_.y.data, call_.y.dtype, call_.y.place(row, i), result(mean, x));
      if (i + 1 == call_.n) return;
      if (call_.dual.data != nullptr) {
        store_as(call_.dual.data, call_.dual.dtype, call_.dual.place(row, i), u);
      }
      const auto code = static_cast<std::uint32_t>(jump > 0 ? Code::up : Code::down);
      if (jump != 0) atomicOr(codes_ + (i + 1) / 16, code << (2 * ((i + 1) % 16)));
    });
    if (call_.partition == nullptr) return;
    threads_.sync();
    for (int w = threads_.thread(); w < words; w += kThreads) {
      call_.partition[row * words + w] = codes_[w];
    }
  }

  const NewtonCall& call_;
  const bool by_edge_;
  RowThreads<kThreads> threads_;
  NewtonMemory memory_ = {};
  std::uint32_t* codes_;
  double origin_ = 0;
};

}  // namespace tautstring::detail
