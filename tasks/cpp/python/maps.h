// Maps as NumPy arrays of shape (height, width).
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "python/arrays.h"
#include "support/map.h"

namespace tautstring_tasks::python {

using Map = Array<const std::uint8_t, nanobind::ndim<2>>;
using FloatMap = Array<const float, nanobind::ndim<2>>;
using NewMap = Array<std::uint8_t, nanobind::ndim<2>>;
using NewFloatMap = Array<float, nanobind::ndim<2>>;

template <class Picture>
Size size_of(const Picture& map) {
  constexpr std::size_t most = 1 << 15;  // places are counted by int, with margins
  if (map.shape(0) > most || map.shape(1) > most) {
    throw std::invalid_argument("a map: must have at most 32768 pixels per side");
  }
  return {.height = static_cast<int>(map.shape(0)), .width = static_cast<int>(map.shape(1))};
}

}  // namespace tautstring_tasks::python
