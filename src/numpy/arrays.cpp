#include "arrays.h"

#include "tautstring/error.h"

namespace tautstring::numpy {
namespace {

DType dtype_of(const nb::dlpack::dtype& dtype) {
  if (dtype.code == static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float) && dtype.lanes == 1) {
    switch (dtype.bits) {
      case 16: return DType::float16;
      case 32: return DType::float32;
      case 64: return DType::float64;
      default: break;
    }
  }
  throw nb::type_error("dtype: must be float16, float32 or float64");
}

template <class SomeView, class Array>
SomeView make_view(const Array& array) {
  SomeView view;
  view.data = array.data();
  view.dtype = dtype_of(array.dtype());
  view.ndim = static_cast<int>(array.ndim());
  if (view.ndim > kMaxDims) return view;  // every call of the core returns an error that names it
  for (int d = 0; d < view.ndim; ++d) {
    view.shape[d] = static_cast<std::int64_t>(array.shape(static_cast<std::size_t>(d)));
    view.strides[d] = array.stride(static_cast<std::size_t>(d));
  }
  return view;
}

PyObject* exception_type(StatusCode code) {
  switch (code) {
    case StatusCode::out_of_memory: return PyExc_MemoryError;
    case StatusCode::unsupported_device:
    case StatusCode::device_error: return PyExc_RuntimeError;
    default: return PyExc_ValueError;
  }
}

}  // namespace

ConstView view_of(const Input& array) {
  return make_view<ConstView>(array);
}

ConstView view_of(const std::optional<Input>& array) {
  return array ? view_of(*array) : ConstView{};
}

View view_of(const Output& array) {
  return make_view<View>(array);
}

View view_of(const std::optional<Output>& array) {
  return array ? view_of(*array) : View{};
}

Lam lam_of(const NumberOrInput& lam) {
  if (const double* number = std::get_if<double>(&lam)) return *number;
  return view_of(std::get<Input>(lam));
}

Mode mode_of(bool sharpen) {
  return sharpen ? Mode::sharp : Mode::smooth;
}

void raise_unless_ok(const Status& status) {
  if (status.ok()) return;
  const bool is_raised = status.code == StatusCode::interrupted;  // see signals.h
  if (!is_raised) PyErr_SetString(exception_type(status.code), message(status).c_str());
  throw nb::python_error();
}

}  // namespace tautstring::numpy
