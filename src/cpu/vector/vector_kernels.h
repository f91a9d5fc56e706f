// The vector code's doors: what it does for one arithmetic type, on one
// instruction set. All sets find the same jumps, bit for bit; sums over segments
// are taken in blocks as wide as a vector, so values may differ in the last bits.
#pragma once

#include <cstdint>

#include "cpu/vector/lane_jobs.h"
#include "cpu/vector/segment_list.h"

namespace tautline::detail {

/// Rows, one behind the other, or a piece of one, whose jumps have been found.
template <class T>
struct SolvedStretch {
  const T* x = nullptr;
  Code* codes = nullptr;  // the first one is a start; readable for a vector behind the last
  T* y = nullptr;         // may be x
  std::int32_t n = 0;
  Code after = Code::plain;  // what follows the last sample
  T lam = 0;
  const T* edge_lam = nullptr;  // behind each sample and before the first; null: `lam`
  const T* row_lam = nullptr;   // for each `row_length` samples; null: `lam`
  std::int32_t row_length = 0;
  T offset = 0;  // what was taken off x
  bool sharp = false;
};

/// Rows, one behind the other, of an incoming gradient.
template <class T>
struct GradientStretch {
  const T* g = nullptr;
  const Code* codes = nullptr;
  T* grad_x = nullptr;  // may be g
  std::int32_t n = 0;
  bool sharp = false;
};

/// The smallest and the largest of some samples.
template <class T>
struct Extent {
  T low;
  T high;
  bool finite;
};

/// What the vector code is tuned for: both shapes give the same result.
enum class LaneShape : std::uint8_t {
  short_segments,  // of a sample or two
  long_segments,
};

template <class T>
struct VectorKernels {
  std::int32_t lanes;  // jobs worked on at the same time
  void (*find_jumps)(const LaneJobs<T>&, JobEnd, LaneShape, FoundJumps&) noexcept;
  void (*finish)(const SolvedStretch<T>&, SegmentList<T>&) noexcept;
  void (*average)(const GradientStretch<T>&, SegmentList<T>&) noexcept;
  /// Copies rows that are `step` apart to rows `pitch` apart, and measures them.
  void (*copy_rows)(const T* from, std::int64_t step, std::int32_t rows, std::int32_t n, T* to,
                    std::int64_t pitch, Extent<T>* extents) noexcept;
  void (*measure_rows)(const T* x, std::int64_t pitch, std::int32_t rows, std::int32_t n,
                       Extent<T>* extents) noexcept;
  /// `rows` neighbours in memory, one sample a `stride`, to rows `pitch` apart; and back.
  void (*gather_columns)(const T* from, std::int64_t stride, std::int32_t rows, std::int32_t n,
                         T* to, std::int64_t pitch) noexcept;
  void (*scatter_columns)(const T* from, std::int64_t pitch, std::int32_t rows, std::int32_t n,
                          T* to, std::int64_t stride) noexcept;
};

struct CpuTarget {
  const char* name;
  VectorKernels<float> float32;
  VectorKernels<double> float64;

  template <class T>
  [[nodiscard]] const VectorKernels<T>& kernels() const noexcept {
    if constexpr (sizeof(T) == sizeof(float)) {
      return float32;
    } else {
      return float64;
    }
  }
};

}  // namespace tautline::detail
