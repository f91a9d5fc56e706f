// The extension module tautstring_tasks._native, private to that package: the C++ part of the
// vision tasks on NumPy arrays. One file per part; this one lists them. Nothing here computes.
#include <nanobind/nanobind.h>

#include "python/cifar10c.h"
#include "python/edges.h"
#include "python/localise.h"

NB_MODULE(_native, module) {
  tautstring_tasks::python::add_cifar10c(module);
  tautstring_tasks::python::add_edges(module);
  tautstring_tasks::python::add_localise(module);
}
