// NumPy arrays, and what a long call does while it runs.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tautstring_tasks::python {

template <class T, class... Shape>
using Array =
    nanobind::ndarray<T, nanobind::numpy, nanobind::c_contig, nanobind::device::cpu, Shape...>;

/// An array with memory of its own, which Python then owns.
template <class T, class Result>
Result new_array(std::vector<T> values, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(kept,
                                [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Result(kept->data(), shape, owner);
}

/// Reports progress, on the calling thread and with the interpreter: handlers of signals run here,
/// and they or the report may raise, which stops the work.
inline auto reporting_to(const nanobind::object& progress) {
  return [&progress](std::size_t done) {
    const nanobind::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
    if (!progress.is_none()) progress(done);
    return true;
  };
}

}  // namespace tautstring_tasks::python
