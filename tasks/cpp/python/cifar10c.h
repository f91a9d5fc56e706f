#pragma once

#include <nanobind/nanobind.h>

namespace tautstring_tasks::python {

/// Adds the functions for CIFAR-10-C.
void add_cifar10c(nanobind::module_& module);

}  // namespace tautstring_tasks::python
