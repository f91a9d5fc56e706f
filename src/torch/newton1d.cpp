#include "newton1d.h"

#include <algorithm>
#include <utility>

#include "call_context.h"
#include "lams.h"
#include "tautstring/tautstring.h"
#include "tensors.h"

namespace tautstring::torch_ops {
namespace {

NewtonSolution1d solve(const Tensor& x, const Lam& lam, const std::optional<Tensor>& start,
                       std::int64_t dim, bool sharpen, const Newton1d& newton, bool keep_partition,
                       bool report) {
  require_device_of("x", x, "start", start);
  require_dim("x", x, dim);
  const Problem1d problem = {
      .x = view_of("x", x), .lam = lam, .dim = static_cast<int>(dim), .mode = mode_of(sharpen)};
  const CallContext context(x, problem);
  const auto make_report = [&](ScalarType dtype) {
    return report ? make_tensor(batch_of_rows(x, dim), dtype, x) : make_nothing(x);
  };
  Tensor y = make_like(x, x.scalar_type());
  Tensor partition = make_partition(x, dim, keep_partition);
  Tensor done = make_report(ScalarType::Int);
  Tensor gap = make_report(ScalarType::Double);
  Tensor converged = make_report(ScalarType::Bool);
  const std::int64_t edges = std::max<std::int64_t>(x.size(dim) - 1, 0);
  Tensor dual =
      report ? make_tensor(shape_with_size(x, dim, edges), ScalarType::Double, x) : make_nothing(x);
  NewtonResults1d results = {.y = output_view_of("y", y), .partition = output_words_of(partition)};
  if (report) {
    results.dual = output_view_of("dual", dual);
    results.gap = output_span_of<double>(gap);
    results.iterations = output_span_of<std::int32_t>(done);
    results.converged = output_span_of<std::uint8_t>(converged);  // 0 or 1, the bytes of a bool
  }
  raise_unless_ok(prox_tv1d_newton(problem, newton, results, context.get()));
  return {std::move(y),   std::move(partition), std::move(done),
          std::move(gap), std::move(converged), std::move(dual)};
}

Newton1d newton_of(const std::optional<Tensor>& start, std::int64_t iterations, double tol,
                   bool halving, bool polish) {
  return {.iterations = clamped(iterations),
          .tol = tol,
          .line_search = halving ? LineSearch::halving : LineSearch::interpolation,
          .polish = polish,
          .start = view_of("start", start)};
}

}  // namespace

NewtonSolution1d newton1d(const Tensor& x, const Tensor& lam, const std::optional<Tensor>& start,
                          std::int64_t dim, bool sharpen, std::int64_t iterations, double tol,
                          bool halving, bool polish, bool keep_partition, bool report) {
  return solve(x, lam_of("lam", x, lam), start, dim, sharpen,
               newton_of(start, iterations, tol, halving, polish), keep_partition, report);
}

NewtonSolution1d newton1d_number(const Tensor& x, double lam, const std::optional<Tensor>& start,
                                 std::int64_t dim, bool sharpen, std::int64_t iterations,
                                 double tol, bool halving, bool polish, bool keep_partition,
                                 bool report) {
  return solve(x, lam, start, dim, sharpen, newton_of(start, iterations, tol, halving, polish),
               keep_partition, report);
}

}  // namespace tautstring::torch_ops
