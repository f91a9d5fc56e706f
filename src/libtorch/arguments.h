// Checks of arguments that the function and the layer share, and that src/torch never sees.
#pragma once

#include <c10/util/Exception.h>

#include "tautline/tv1d.h"

namespace tautline::libtorch {

inline void require_known(Mode mode) {
  TORCH_CHECK_VALUE(mode == Mode::smooth || mode == Mode::sharp,
                    "mode: must be Mode::smooth or Mode::sharp, got Mode(", static_cast<int>(mode),
                    ")");
}

}  // namespace tautline::libtorch
