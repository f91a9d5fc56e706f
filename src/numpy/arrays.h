// Converts NumPy arrays to the core's views, and its Status to Python exceptions. Nothing here
// copies or computes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "signals.h"
#include "tautstring/context.h"
#include "tautstring/status.h"
#include "tautstring/tv1d.h"
#include "tautstring/view.h"
#include "threads.h"

namespace tautstring::numpy {

namespace nb = nanobind;

/// Arrays of any strides; an input may be read-only.
using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Output = nb::ndarray<nb::device::cpu>;

/// A contiguous list of values.
template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Partition = List<std::uint32_t>;
using ConstPartition = List<const std::uint32_t>;
using NumberOrInput = std::variant<double, Input>;

/// Views of the arrays' own memory, which must outlive them. Raises TypeError for a dtype that the
/// core does not support; an array that is not given becomes a view that is not given.
ConstView view_of(const Input& array);
ConstView view_of(const std::optional<Input>& array);
View view_of(const Output& array);
View view_of(const std::optional<Output>& array);

Lam lam_of(const NumberOrInput& lam);
Mode mode_of(bool sharpen);

template <class T>
std::span<T> span_of(const List<T>& list) {
  return {list.data(), list.size()};
}

template <class T>
std::span<T> span_of(const std::optional<List<T>>& list) {
  return list ? span_of(*list) : std::span<T>{};
}

/// An array argument without conversion: results written to a converted copy would be lost.
inline auto array(const char* name) {
  return nb::arg(name).noconvert();
}

/// Raises ValueError, MemoryError or RuntimeError with the text of the status; for a call that a
/// signal stopped, the exception of the signal's handler.
void raise_unless_ok(const Status& status);

/// Calls the core while other Python threads run.
template <class Call>
void call_core(const Call& call) {
  Status status;
  {
    const nb::gil_scoped_release released;
    status = call();
  }
  raise_unless_ok(status);
}

inline constexpr int kAllThreads = 0;

/// Calls a core function that takes a context, on the given number of threads and until a signal
/// stops it.
template <class Call>
void call_core_with(int threads, const Call& call) {
  CallThreads executor(threads);
  Signals signals;
  call_core([&] { return call({.executor = &executor, .interrupt = &signals}); });
}

}  // namespace tautstring::numpy
