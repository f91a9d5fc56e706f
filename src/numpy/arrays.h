// From NumPy arrays to the core's views, and from its Status to Python's
// exceptions. Nothing here copies or computes.
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

/// A list of values without gaps.
template <class T>
using List = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

using Partition = List<std::uint32_t>;
using ConstPartition = List<const std::uint32_t>;
using NumberOrInput = std::variant<double, Input>;

/// Views of the arrays' own memory, which must outlive them. A TypeError for a
/// dtype that the core does not know; an array not given makes a view not given.
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

/// An array argument as it is: a converted copy would swallow what is written.
inline auto array(const char* name) {
  return nb::arg(name).noconvert();
}

/// Raises ValueError, MemoryError or RuntimeError with the status's own text; of a
/// call that a signal stopped, what the signal's handler raised.
void raise_unless_ok(const Status& status);

/// Makes a call of the core while other Python threads go on.
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

/// Makes a call of the core that takes a context, on so many threads and until a
/// signal stops it.
template <class Call>
void call_core_with(int threads, const Call& call) {
  CallThreads executor(threads);
  Signals signals;
  call_core([&] { return call({.executor = &executor, .interrupt = &signals}); });
}

}  // namespace tautstring::numpy
