// What a row's result is once it is stored: rounded to its dtype, an offset added, mirrored at its
// samples. What is reported of a result is about that.
#pragma once

#include "step/host_device.h"
#include "step/row/row_io.h"
#include "step/segment.h"
#include "tautstring/view.h"

namespace tautstring::detail {

struct ReturnedRow {
  DType dtype = DType::float64;
  bool sharp = false;
  double offset = 0;  // of the samples as they are counted
  double scale = 1;   // a power of two that they are then taken times

  /// Whether it is what was computed, but for its scale.
  [[nodiscard]] constexpr bool is_exact() const noexcept {
    return dtype == DType::float64 && !sharp && offset == 0;
  }
  /// The smooth value that a result stands for once it is stored, counted as its sample x is.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double smooth(double result, double x) const noexcept {
    return mirror_back((rounded_to(dtype, result) - offset) * scale, x, sharp);
  }
};

}  // namespace tautstring::detail
