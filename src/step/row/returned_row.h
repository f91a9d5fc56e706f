// The result of a row as it is stored: rounded to its dtype, with the offset added, mirrored at its
// samples. What is reported on a result refers to this.
#pragma once

#include "step/host_device.h"
#include "step/row/row_io.h"
#include "step/segment.h"
#include "tautstring/view.h"

namespace tautstring::detail {

struct ReturnedRow {
  DType dtype = DType::float64;
  bool sharp = false;
  double offset = 0;  // subtracted from the samples
  double scale = 1;   // a power of two that they are then multiplied by

  /// Whether the stored result is the computed one, except for its scale.
  [[nodiscard]] constexpr bool is_exact() const noexcept {
    return dtype == DType::float64 && !sharp && offset == 0;
  }
  /// The smooth value that a stored result stands for, in the scale and offset of its sample x.
  [[nodiscard]] TAUTSTRING_HOST_DEVICE double smooth(double result, double x) const noexcept {
    return mirror_back((rounded_to(dtype, result) - offset) * scale, x, sharp);
  }
};

}  // namespace tautstring::detail
