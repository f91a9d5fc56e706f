#pragma once

#include <nanobind/nanobind.h>

namespace tautstring_tasks::python {

/// Adds the functions that score maps of edges.
void add_edges(nanobind::module_& module);

}  // namespace tautstring_tasks::python
