// The 2D calls of the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace tautstring::numpy {

/// Adds prox_tv2d and all that belongs to it to the module.
void add_tv2d(nanobind::module_& module);

}  // namespace tautstring::numpy
