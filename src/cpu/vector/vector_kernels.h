// The table of the vector code's functions for one arithmetic type on one instruction set. All sets
// find exactly the same jumps; sums over segments are taken in blocks as wide as a vector, so
// values may differ in the last bits.
#pragma once

#include <cstdint>

#include "cpu/image_loops.h"
#include "cpu/vector/lane_jobs.h"
#include "cpu/vector/line_pass.h"
#include "cpu/vector/newton_lanes.h"
#include "cpu/vector/segment_list.h"

namespace tautstring::detail {

/// Consecutive rows, or a stretch of one, whose jumps have been found.
template <class T>
struct SolvedStretch {
  const T* x = nullptr;
  Code* codes = nullptr;  // n + 1 of them: the first and the last one are starts
  T* y = nullptr;         // may be x
  std::int32_t n = 0;
  T lam = 0;
  const T* edge_lam = nullptr;  // after each sample and before the first; null: `lam`
  const T* row_lam = nullptr;   // for each `row_length` samples; null: `lam`
  std::int32_t row_length = 0;  // a multiple of 16
  T offset = 0;                 // what was subtracted from x
  bool sharp = false;
};

/// Whether the gradient of lam is wanted: one per row, or one per edge.
enum class LamGradient : std::uint8_t { none, row, edges };

/// Rows of an incoming gradient, and where the results go. Rows are a pitch apart; their codes are
/// contiguous.
template <class T>
struct GradientRows {
  std::int64_t count = 0;
  std::int32_t n = 0;  // at least 1
  bool sharp = false;
  const std::uint32_t* words = nullptr;
  const T* g = nullptr;
  std::int64_t g_pitch = 0;
  T* grad_x = nullptr;  // may be g; null: not wanted
  std::int64_t grad_x_pitch = 0;
  double* row_lam = nullptr;  // one per row
  T* edge_lam = nullptr;      // n - 1 per row
  std::int64_t edge_lam_pitch = 0;
};

/// The smallest and the largest of some samples.
template <class T>
struct Extent {
  T low;
  T high;
  bool finite;
};

/// What the vector code is tuned for. All shapes give the same result.
enum class LaneShape : std::uint8_t {
  single_samples,   // segments of a sample or two
  short_segments,   // of a few
  medium_segments,  // of some more
  long_segments,    // of dozens
};

/// Copies `rows` neighbours in memory, with samples `stride` apart, to rows `pitch` apart; and
/// back.
template <class T>
struct ColumnMoves {
  void (*gather)(const T* from, std::int64_t stride, std::int32_t rows, std::int32_t n, T* to,
                 std::int64_t pitch) noexcept;
  void (*scatter)(const T* from, std::int64_t pitch, std::int32_t rows, std::int32_t n, T* to,
                  std::int64_t stride) noexcept;
};

template <class T>
struct VectorKernels {
  std::int32_t lanes;  // jobs processed at the same time
  void (*find_jumps)(const LaneJobs<T>&, JobEnd, LaneShape, FoundJumps&) noexcept;
  void (*finish)(const SolvedStretch<T>&, SegmentList<T>&) noexcept;
  /// Packs n codes (see tautstring/partition.h).
  void (*pack)(const Code* codes, std::int64_t n, std::uint32_t* words) noexcept;
  /// Computes gradients from the incoming one and the codes; no byte outside a row is touched.
  void (*average)(const GradientRows<T>&, LamGradient) noexcept;
  /// Copies rows that are `step` apart to rows `pitch` apart, and measures them.
  void (*copy_rows)(const T* from, std::int64_t step, std::int32_t rows, std::int32_t n, T* to,
                    std::int64_t pitch, Extent<T>* extents) noexcept;
  void (*measure_rows)(const T* x, std::int64_t pitch, std::int32_t rows, std::int32_t n,
                       Extent<T>* extents) noexcept;
  ColumnMoves<T> columns;
  /// Take the lines of groups [first, last); see cpu/vector/line_pass.h. The latter returns whether
  /// any line has a tie.
  void (*repair_lines)(const LinePass<T>&, std::int64_t first, std::int64_t last) noexcept;
  bool (*average_lines)(const LineAverages<T>&, std::int64_t first, std::int64_t last) noexcept;
  std::int32_t line_lanes;  // lines per group
  // See cpu/image_loops.h.
  void (*load_pixels)(const ImageSpan<const void>& from, std::int32_t height, std::int32_t width,
                      T* to, std::int64_t pitch) noexcept;
  void (*store_pixels)(const PixelStore<T>&) noexcept;
  void (*add_row_quality)(const QualityRow<T>&, Quality&) noexcept;
  double (*take_q)(const AcceleratedStep<T>&, std::int64_t count, double scale) noexcept;
  void (*extrapolate)(const AcceleratedStep<T>&, std::int64_t count, T momentum) noexcept;
};

struct CpuTarget {
  const char* name;
  VectorKernels<float> float32;
  VectorKernels<double> float64;
  ColumnMoves<std::uint16_t> columns16;
  std::int32_t newton_lanes;  // 0: not available
  void (*newton)(NewtonLanes&) noexcept;

  template <class T>
  [[nodiscard]] const VectorKernels<T>& kernels() const noexcept {
    if constexpr (sizeof(T) == sizeof(float)) {
      return float32;
    } else {
      return float64;
    }
  }
};

}  // namespace tautstring::detail
