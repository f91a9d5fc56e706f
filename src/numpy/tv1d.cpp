// Each function makes views of its arrays and calls the core function of the same name. Python
// allocates the outputs and has checked all dtypes; the core checks sizes and values.
#include "tv1d.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <cstddef>
#include <vector>

#include "arrays.h"
#include "tautstring/tautstring.h"

namespace tautstring::numpy {
namespace {

/// Words of the partition of x's solution; 0 if x is not valid, for which the call that follows has
/// a better error message.
std::int64_t partition_size(const Input& x, int dim) {
  const ConstView view = view_of(x);
  return row_count(view, dim) * partition_words(row_length(view, dim));
}

void solve(const Input& x, const NumberOrInput& lam, const std::optional<Input>& weight, int dim,
           bool sharpen, int threads, const Output& y, const std::optional<Partition>& partition) {
  const Problem1d problem = {.x = view_of(x),
                             .lam = lam_of(lam),
                             .weight = view_of(weight),
                             .dim = dim,
                             .mode = mode_of(sharpen)};
  const View result = view_of(y);
  const std::span<std::uint32_t> codes = span_of(partition);
  call_core_with(
      threads, [&](const Context& context) { return prox_tv1d(problem, result, codes, context); });
}

void solve_by_newton(const Input& x, const NumberOrInput& lam, const std::optional<Input>& start,
                     int dim, bool sharpen, int iterations, double tol, bool halving, bool polish,
                     int threads, const Output& y, const std::optional<Partition>& partition,
                     const std::optional<List<std::int32_t>>& done,
                     const std::optional<List<double>>& gap,
                     const std::optional<List<std::uint8_t>>& converged,
                     const std::optional<Output>& dual) {
  const Problem1d problem = {
      .x = view_of(x), .lam = lam_of(lam), .dim = dim, .mode = mode_of(sharpen)};
  const Newton1d newton = {.iterations = iterations,
                           .tol = tol,
                           .line_search = halving ? LineSearch::halving : LineSearch::interpolation,
                           .polish = polish,
                           .start = view_of(start)};
  const NewtonResults1d results = {.y = view_of(y),
                                   .partition = span_of(partition),
                                   .dual = view_of(dual),
                                   .gap = span_of(gap),
                                   .iterations = span_of(done),
                                   .converged = span_of(converged)};
  call_core_with(threads, [&](const Context& context) {
    return prox_tv1d_newton(problem, newton, results, context);
  });
}

void pull_back(const ConstPartition& partition, const std::optional<Input>& x,
               const std::optional<Input>& y, const std::optional<Input>& weight, int dim,
               bool sharpen, const Input& grad_y, const Output& grad_x, const Output& grad_lam,
               const std::optional<Output>& grad_weight) {
  const Solved1d solved = {.partition = span_of(partition),
                           .x = view_of(x),
                           .y = view_of(y),
                           .weight = view_of(weight),
                           .dim = dim,
                           .mode = mode_of(sharpen)};
  const ConstView incoming = view_of(grad_y);
  const Gradients1d gradients = {
      .x = view_of(grad_x), .lam = view_of(grad_lam), .weight = view_of(grad_weight)};
  call_core_with(kAllThreads, [&](const Context& context) {
    return prox_tv1d_backward(solved, incoming, gradients, context);
  });
}

void certify(const Input& x, const Input& y, const NumberOrInput& lam,
             const std::optional<Input>& weight, int dim, const Output& out) {
  const Problem1d problem = {
      .x = view_of(x), .lam = lam_of(lam), .weight = view_of(weight), .dim = dim};
  const ConstView solution = view_of(y);
  const View violation = view_of(out);
  call_core_with(kAllThreads, [&](const Context& context) {
    return certificate1d(problem, solution, violation, context);
  });
}

void count_segments(const ConstPartition& partition, std::int64_t rows, std::int64_t n,
                    const List<std::int64_t>& offsets) {
  call_core([&] { return segments1d_offsets(span_of(partition), rows, n, span_of(offsets)); });
}

/// The core lists structs; NumPy needs one array per member.
void list_segments(const Input& y, const ConstPartition& partition, int dim,
                   const List<std::int64_t>& starts, const List<std::int64_t>& lengths,
                   const List<double>& values, const List<std::int8_t>& signs) {
  const std::size_t count = starts.size();
  if (lengths.size() != count || values.size() != count || signs.size() != count) {
    throw nb::value_error("starts, lengths, values and signs: must have one size");
  }
  std::vector<Segment> segments(count);
  const ConstView solution = view_of(y);
  call_core([&] { return segments1d(solution, span_of(partition), segments, dim); });
  for (std::size_t i = 0; i < count; ++i) {
    starts.data()[i] = segments[i].start;
    lengths.data()[i] = segments[i].length;
    values.data()[i] = segments[i].value;
    signs.data()[i] = static_cast<std::int8_t>(segments[i].sign);
  }
}

void find_lam_max(const Input& x, const std::optional<Input>& weight, int dim, const Output& out) {
  const ConstView samples = view_of(x);
  const ConstView weights = view_of(weight);
  const View result = view_of(out);
  call_core_with(kAllThreads, [&](const Context& context) {
    return lam_max(samples, result, weights, dim, context);
  });
}

void find_path(const Input& x, const std::optional<Input>& weight, int dim, const Output& lams) {
  const ConstView samples = view_of(x);
  const ConstView weights = view_of(weight);
  const View result = view_of(lams);
  call_core_with(kAllThreads, [&](const Context& context) {
    return path1d(samples, result, weights, dim, context);
  });
}

void select(const Input& x, const std::optional<Input>& sigma, const std::optional<Input>& weight,
            int dim, int criterion, std::int64_t segments, const Output& lam) {
  const Selection1d selection = {.x = view_of(x),
                                 .criterion = static_cast<Criterion>(criterion),
                                 .sigma = view_of(sigma),
                                 .segments = segments,
                                 .weight = view_of(weight),
                                 .dim = dim};
  const View result = view_of(lam);
  call_core_with(kAllThreads,
                 [&](const Context& context) { return select_lam1d(selection, result, context); });
}

void find_sigma(const Input& x, const std::optional<Input>& weight, int dim, const Output& sigma) {
  const ConstView samples = view_of(x);
  const ConstView weights = view_of(weight);
  const View result = view_of(sigma);
  call_core_with(kAllThreads, [&](const Context& context) {
    return estimate_sigma1d(samples, result, weights, dim, context);
  });
}

void find_tv(const Input& x, int dim, const Output& out) {
  const ConstView samples = view_of(x);
  const View result = view_of(out);
  call_core_with(kAllThreads,
                 [&](const Context& context) { return tv(samples, result, dim, context); });
}

}  // namespace

void add_tv1d(nb::module_& module) {
  module.def("partition_size", &partition_size, array("x"), nb::arg("dim"));
  module.def("prox_tv1d", &solve, array("x"), array("lam"), array("weight").none(), nb::arg("dim"),
             nb::arg("sharpen"), nb::arg("threads"), array("y"), array("partition").none());
  module.def("prox_tv1d_newton", &solve_by_newton, array("x"), array("lam"), array("start").none(),
             nb::arg("dim"), nb::arg("sharpen"), nb::arg("iterations"), nb::arg("tol"),
             nb::arg("halving"), nb::arg("polish"), nb::arg("threads"), array("y"),
             array("partition").none(), array("done").none(), array("gap").none(),
             array("converged").none(), array("dual").none());
  module.def("prox_tv1d_backward", &pull_back, array("partition"), array("x").none(),
             array("y").none(), array("weight").none(), nb::arg("dim"), nb::arg("sharpen"),
             array("grad_y"), array("grad_x"), array("grad_lam"), array("grad_weight").none());
  module.def("certificate1d", &certify, array("x"), array("y"), array("lam"),
             array("weight").none(), nb::arg("dim"), array("out"));
  module.def("segments1d_offsets", &count_segments, array("partition"), nb::arg("rows"),
             nb::arg("n"), array("offsets"));
  module.def("segments1d", &list_segments, array("y"), array("partition"), nb::arg("dim"),
             array("starts"), array("lengths"), array("values"), array("signs"));
  module.def("lam_max", &find_lam_max, array("x"), array("weight").none(), nb::arg("dim"),
             array("out"));
  module.def("path1d", &find_path, array("x"), array("weight").none(), nb::arg("dim"),
             array("lams"));
  module.def("select_lam1d", &select, array("x"), array("sigma").none(), array("weight").none(),
             nb::arg("dim"), nb::arg("criterion"), nb::arg("segments"), array("lam"));
  module.def("estimate_sigma1d", &find_sigma, array("x"), array("weight").none(), nb::arg("dim"),
             array("sigma"));
  module.def("tv", &find_tv, array("x"), nb::arg("dim"), array("out"));
}

}  // namespace tautstring::numpy
