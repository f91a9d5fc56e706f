// The 1D calls of the extension module.
#pragma once

#include <nanobind/nanobind.h>

namespace tautstring::numpy {

/// Adds prox_tv1d and its related functions to the module.
void add_tv1d(nanobind::module_& module);

}  // namespace tautstring::numpy
