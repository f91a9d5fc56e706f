// The op library: schemas, and one kernel for both devices. Fake kernels, autograd
// and batching are registered from Python. `dim` counts from the front, and tensors
// that are cut into rows have at least one dimension.
#include <torch/csrc/stable/library.h>

#include "call_context.h"
#include "newton1d.h"
#include "tautstring/tautstring.h"
#include "tensors.h"
#include "tv1d.h"
#include "tv2d.h"

STABLE_TORCH_LIBRARY(tautstring, library) {
  library.def(
      "prox_tv1d(Tensor x, Tensor lam, Tensor? weight, int dim, bool sharpen, "
      "bool keep_partition) -> (Tensor y, Tensor partition)");
  library.def(
      "prox_tv1d.number(Tensor x, float lam, Tensor? weight, int dim, bool sharpen, "
      "bool keep_partition) -> (Tensor y, Tensor partition)");
  library.def(
      "prox_tv1d_backward(Tensor grad_y, Tensor partition, int dim, bool sharpen, "
      "ScalarType x_dtype, SymInt lam_size, int[] lam_shared_dims, ScalarType lam_dtype, "
      "bool wants_x, bool wants_lam) -> (Tensor grad_x, Tensor grad_lam)");
  library.def(
      "prox_tv1d_weighted_backward(Tensor grad_y, Tensor partition, Tensor x, Tensor y, "
      "Tensor weight, int dim, bool sharpen, SymInt lam_size, int[] lam_shared_dims, "
      "ScalarType lam_dtype, bool wants_x, bool wants_lam, bool wants_weight) "
      "-> (Tensor grad_x, Tensor grad_lam, Tensor grad_weight)");
  library.def(
      "prox_tv1d_jvp(Tensor partition, Tensor? x, Tensor? y, Tensor? weight, Tensor? tangent_x, "
      "Tensor? tangent_lam, Tensor? tangent_weight, int dim, bool sharpen, SymInt n, "
      "ScalarType dtype) -> Tensor");
  library.def(
      "prox_tv1d_newton(Tensor x, Tensor lam, Tensor? start, int dim, bool sharpen, "
      "int iterations, float tol, bool halving, bool polish, bool keep_partition, bool report) "
      "-> (Tensor y, Tensor partition, Tensor done, Tensor gap, Tensor converged, Tensor dual)");
  library.def(
      "prox_tv1d_newton.number(Tensor x, float lam, Tensor? start, int dim, bool sharpen, "
      "int iterations, float tol, bool halving, bool polish, bool keep_partition, bool report) "
      "-> (Tensor y, Tensor partition, Tensor done, Tensor gap, Tensor converged, Tensor dual)");
  library.def("certificate1d(Tensor x, Tensor y, Tensor lam, Tensor? weight, int dim) -> Tensor");
  library.def(
      "certificate1d.number(Tensor x, Tensor y, float lam, Tensor? weight, int dim) -> Tensor");
  library.def("lam_max(Tensor x, Tensor? weight, int dim) -> Tensor");
  library.def("path1d(Tensor x, Tensor? weight, int dim) -> Tensor");
  library.def(
      "prox_tv2d(Tensor x, Tensor lam_rows, Tensor lam_cols, Tensor? start, int height_dim, "
      "int width_dim, bool sharpen, bool accelerated, int iterations, float tol, "
      "bool implicit, bool keep_partitions, bool report) "
      "-> (Tensor y, Tensor partitions, Tensor momentum, Tensor done, Tensor gap, "
      "Tensor objective, Tensor converged, Tensor dual)");
  library.def(
      "prox_tv2d.number(Tensor x, float lam_rows, float lam_cols, Tensor? start, int height_dim, "
      "int width_dim, bool sharpen, bool accelerated, int iterations, float tol, "
      "bool implicit, bool keep_partitions, bool report) "
      "-> (Tensor y, Tensor partitions, Tensor momentum, Tensor done, Tensor gap, "
      "Tensor objective, Tensor converged, Tensor dual)");
  library.def(
      "prox_tv2d_backward(Tensor grad_y, Tensor partitions, Tensor momentum, Tensor done, "
      "int height_dim, int width_dim, bool sharpen, int iterations, bool implicit, "
      "ScalarType x_dtype, SymInt lam_rows_size, int[] lam_rows_shared_dims, "
      "ScalarType lam_rows_dtype, SymInt lam_cols_size, int[] lam_cols_shared_dims, "
      "ScalarType lam_cols_dtype, bool wants_x, bool wants_lam_rows, bool wants_lam_cols) "
      "-> (Tensor grad_x, Tensor grad_lam_rows, Tensor grad_lam_cols)");
  library.def(
      "prox_tv2d_jvp(Tensor partitions, Tensor momentum, Tensor done, Tensor? tangent_x, "
      "Tensor? tangent_lam_rows, Tensor? tangent_lam_cols, int height_dim, int width_dim, "
      "bool sharpen, int iterations, bool implicit, SymInt height, SymInt width, "
      "ScalarType dtype) -> Tensor");
  library.def(
      "gap2d(Tensor x, Tensor y, Tensor lam_rows, Tensor lam_cols, Tensor? dual, int height_dim, "
      "int width_dim) -> Tensor");
  library.def(
      "gap2d.number(Tensor x, Tensor y, float lam_rows, float lam_cols, Tensor? dual, "
      "int height_dim, int width_dim) -> Tensor");
  library.def("has_cuda() -> bool");
}

// For _extension.py.
extern "C" {

/// Python passes a function that checks its signals; this library knows no Python.
TAUTSTRING_API void tautstring_set_stop_check(tautstring::torch_ops::StopCheck check) {
  tautstring::torch_ops::set_stop_check(check);
}

/// This library has scratch memory of its own, apart from the NumPy binding's.
TAUTSTRING_API void tautstring_release_scratch() {
  tautstring::release_scratch();
}

/// The prefixes of errors: see tensors.h.
TAUTSTRING_API const char* tautstring_invalid_argument() {
  return tautstring::torch_ops::kInvalidArgument;
}
TAUTSTRING_API const char* tautstring_interrupted() {
  return tautstring::torch_ops::kInterrupted;
}

}  // extern "C"

namespace {

bool has_cuda() {
  return tautstring::capabilities().cuda;
}

void implement(torch::stable::detail::StableLibrary& library) {
  using namespace tautstring::torch_ops;
  library.impl("prox_tv1d", TORCH_BOX(&solve1d));
  library.impl("prox_tv1d.number", TORCH_BOX(&solve1d_number));
  library.impl("prox_tv1d_backward", TORCH_BOX(&backward1d));
  library.impl("prox_tv1d_weighted_backward", TORCH_BOX(&weighted_backward1d));
  library.impl("prox_tv1d_jvp", TORCH_BOX(&jvp1d));
  library.impl("prox_tv1d_newton", TORCH_BOX(&newton1d));
  library.impl("prox_tv1d_newton.number", TORCH_BOX(&newton1d_number));
  library.impl("certificate1d", TORCH_BOX(&certify1d));
  library.impl("certificate1d.number", TORCH_BOX(&certify1d_number));
  library.impl("lam_max", TORCH_BOX(&find_lam_max));
  library.impl("prox_tv2d", TORCH_BOX(&solve2d));
  library.impl("prox_tv2d.number", TORCH_BOX(&solve2d_number));
  library.impl("prox_tv2d_backward", TORCH_BOX(&backward2d));
  library.impl("prox_tv2d_jvp", TORCH_BOX(&jvp2d));
  library.impl("gap2d", TORCH_BOX(&find_gap2d));
  library.impl("gap2d.number", TORCH_BOX(&find_gap2d_number));
}

}  // namespace

// Without a tensor argument, no device selects a kernel.
STABLE_TORCH_LIBRARY_IMPL(tautstring, CompositeExplicitAutograd, library) {
  library.impl("has_cuda", TORCH_BOX(&has_cuda));
}

STABLE_TORCH_LIBRARY_IMPL(tautstring, CPU, library) {
  implement(library);
  library.impl("path1d", TORCH_BOX(&tautstring::torch_ops::find_path1d));
}

STABLE_TORCH_LIBRARY_IMPL(tautstring, CUDA, library) {
  implement(library);
}
