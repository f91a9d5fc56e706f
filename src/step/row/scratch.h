// Scratch memory: one block per call, cut into arrays, one part per task or thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "step/host_device.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// Hands out aligned arrays from a block. With a null block it only counts, so the code that takes
/// the arrays also computes how much memory they need.
class Scratch {
 public:
  TAUTSTRING_HOST_DEVICE explicit Scratch(std::byte* block) noexcept : block_(block) {}

  template <class T>
  TAUTSTRING_HOST_DEVICE T* take(std::int64_t count) noexcept {
    const std::size_t at = used_;
    used_ +=
        (static_cast<std::size_t>(count) * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    return block_ == nullptr ? nullptr : reinterpret_cast<T*>(block_ + at);
  }

  [[nodiscard]] constexpr std::size_t used() const noexcept { return used_; }

  static constexpr std::size_t kAlignment = 64;

 private:
  std::byte* block_;
  std::size_t used_ = 0;
};

/// The scratch memory that any 1D call needs for a row of n elements: 33 bytes per element, 98 with
/// data weights.
struct RowScratch {
  TAUTSTRING_HOST_DEVICE RowScratch(Scratch& scratch, std::int32_t n, bool weighted) noexcept
      : x(scratch.take<double>(n)),
        y(scratch.take<double>(n + 1)),
        lam(scratch.take<double>(n + 1)),
        lower(scratch.take<std::int32_t>(n)),
        upper(scratch.take<std::int32_t>(n)),
        codes(scratch.take<Code>(n)) {
    if (!weighted) return;
    weight = scratch.take<double>(n);
    sum_error = scratch.take<double>(n + 1);
    width = scratch.take<double>(n + 1);
    width_error = scratch.take<double>(n + 1);
    sum_rest = scratch.take<double>(n + 1);
    width_rest = scratch.take<double>(n + 1);
    present = scratch.take<std::int32_t>(n);
    first_covered = scratch.take<std::int32_t>(n + 1);
    compact_codes = scratch.take<Code>(n);
    compact = scratch.take<double>(n);
  }

  double* x;
  double* y;    // also the running sums while the string is pulled
  double* lam;  // one per edge; room for one number if there is no edge
  std::int32_t* lower;
  std::int32_t* upper;
  Code* codes;

  double* weight = nullptr;
  double* sum_error = nullptr;
  double* width = nullptr;
  double* width_error = nullptr;
  double* sum_rest = nullptr;
  double* width_rest = nullptr;
  std::int32_t* present = nullptr;
  std::int32_t* first_covered = nullptr;
  Code* compact_codes = nullptr;
  double* compact = nullptr;
};

inline std::size_t row_scratch_bytes(std::int32_t n, bool weighted) noexcept {
  Scratch counter(nullptr);
  RowScratch(counter, n, weighted);
  return counter.used();
}

}  // namespace tautstring::detail
