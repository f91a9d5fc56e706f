// As in tv1d.cpp: makes views of arrays that Python allocated and calls the core.
#include "tv2d.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include "arrays.h"
#include "tautstring/tautstring.h"

namespace tautstring::numpy {
namespace {

Derivative2d derivative_of(bool implicit) {
  return implicit ? Derivative2d::implicit : Derivative2d::unrolled;
}

/// The number of words of the partitions that derivatives need; 0 if x is not valid: the following
/// call has the better error message.
std::int64_t saved_words(const Input& x, int height_dim, int width_dim, int iterations) {
  return saved_words2d(view_of(x), iterations, height_dim, width_dim);
}

void solve(const Input& x, const NumberOrInput& lam_rows, const NumberOrInput& lam_cols,
           const std::optional<Input>& start, int height_dim, int width_dim, bool sharpen,
           bool accelerated, int iterations, double tol, bool implicit, int threads,
           const Output& y, const std::optional<Partition>& partitions,
           const std::optional<List<double>>& momentum, const List<std::int32_t>& done,
           const std::optional<List<double>>& gap, const std::optional<List<double>>& objective,
           const std::optional<List<std::uint8_t>>& converged, const std::optional<Output>& dual) {
  const Problem2d problem = {.x = view_of(x),
                             .lam_rows = lam_of(lam_rows),
                             .lam_cols = lam_of(lam_cols),
                             .height_dim = height_dim,
                             .width_dim = width_dim,
                             .mode = mode_of(sharpen)};
  const Solver2d solver = {.method = accelerated ? Method2d::accelerated : Method2d::dykstra,
                           .iterations = iterations,
                           .tol = tol,
                           .derivative = derivative_of(implicit),
                           .start = view_of(start)};
  const Results2d results = {.y = view_of(y),
                             .partitions = span_of(partitions),
                             .momentum = span_of(momentum),
                             .dual = view_of(dual),
                             .gap = span_of(gap),
                             .objective = span_of(objective),
                             .converged = span_of(converged),
                             .iterations = span_of(done)};
  call_core_with(threads, [&](const Context& context) {
    return prox_tv2d(problem, solver, results, context);
  });
}

void find_gap(const Input& x, const Input& y, const NumberOrInput& lam_rows,
              const NumberOrInput& lam_cols, const std::optional<Input>& dual, int height_dim,
              int width_dim, const List<double>& gap) {
  const Problem2d problem = {.x = view_of(x),
                             .lam_rows = lam_of(lam_rows),
                             .lam_cols = lam_of(lam_cols),
                             .height_dim = height_dim,
                             .width_dim = width_dim};
  const Candidate2d candidate = {.y = view_of(y), .dual = view_of(dual)};
  call_core_with(kAllThreads, [&](const Context& context) {
    return gap2d(problem, candidate, span_of(gap), context);
  });
}

void pull_back(const ConstPartition& partitions, const List<const double>& momentum,
               const List<const std::int32_t>& done, int height_dim, int width_dim, bool sharpen,
               int iterations, bool implicit, const Input& grad_y, const Output& grad_x,
               const Output& grad_lam_rows, const Output& grad_lam_cols) {
  const Solved2d solved = {.partitions = span_of(partitions),
                           .momentum = span_of(momentum),
                           .done = span_of(done),
                           .iterations = iterations,
                           .derivative = derivative_of(implicit),
                           .height_dim = height_dim,
                           .width_dim = width_dim,
                           .mode = mode_of(sharpen)};
  const ConstView incoming = view_of(grad_y);
  const Gradients2d gradients = {
      .x = view_of(grad_x), .lam_rows = view_of(grad_lam_rows), .lam_cols = view_of(grad_lam_cols)};
  call_core_with(kAllThreads, [&](const Context& context) {
    return prox_tv2d_backward(solved, incoming, gradients, context);
  });
}

}  // namespace

void add_tv2d(nb::module_& module) {
  module.def("saved_words2d", &saved_words, array("x"), nb::arg("height_dim"), nb::arg("width_dim"),
             nb::arg("iterations"));
  module.def("prox_tv2d", &solve, array("x"), array("lam_rows"), array("lam_cols"),
             array("start").none(), nb::arg("height_dim"), nb::arg("width_dim"), nb::arg("sharpen"),
             nb::arg("accelerated"), nb::arg("iterations"), nb::arg("tol"), nb::arg("implicit"),
             nb::arg("threads"), array("y"), array("partitions").none(), array("momentum").none(),
             array("done"), array("gap").none(), array("objective").none(),
             array("converged").none(), array("dual").none());
  module.def(
      "prefers_accelerated",
      [](double tol) { return default_method(tol) == Method2d::accelerated; }, nb::arg("tol"));
  module.def(
      "default_iterations",
      [](bool accelerated, double tol) {
        return default_iterations(accelerated ? Method2d::accelerated : Method2d::dykstra, tol);
      },
      nb::arg("accelerated"), nb::arg("tol"));
  module.def("gap2d", &find_gap, array("x"), array("y"), array("lam_rows"), array("lam_cols"),
             array("dual").none(), nb::arg("height_dim"), nb::arg("width_dim"), array("gap"));
  module.def("prox_tv2d_backward", &pull_back, array("partitions"), array("momentum"),
             array("done"), nb::arg("height_dim"), nb::arg("width_dim"), nb::arg("sharpen"),
             nb::arg("iterations"), nb::arg("implicit"), array("grad_y"), array("grad_x"),
             array("grad_lam_rows"), array("grad_lam_cols"));
}

}  // namespace tautstring::numpy
