#pragma once

#include <nanobind/nanobind.h>

namespace tautstring_tasks::python {

/// Adds the functions that score heat maps.
void add_localise(nanobind::module_& module);

}  // namespace tautstring_tasks::python
