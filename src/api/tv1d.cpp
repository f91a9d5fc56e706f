// The public 1D calls: check, find the backend, forward.
#include "tautline/tv1d.h"

#include "api/arguments.h"

namespace tautline {
namespace {

using detail::Arguments;
using detail::Backend;
using detail::Footprint;
using Along = Arguments::Along;

/// Checks a partition's size against the batch.
template <class Word>
void check_partition(Arguments& arguments, std::span<Word> partition) {
  std::int64_t words = 0;
  const detail::Rows& rows = arguments.rows();
  if (__builtin_mul_overflow(rows.count, partition_words(rows.n), &words) ||
      words != static_cast<std::int64_t>(partition.size())) {
    arguments.fail("partition", "must have row_count * partition_words(n) elements",
                   static_cast<double>(partition.size()));
  }
}

template <class Word>
Footprint footprint(std::span<Word> words) {
  return {words.data(), static_cast<std::int64_t>(words.size_bytes())};
}

detail::SolvedRows lay_out(Arguments& arguments, const Solved1d& solved) {
  detail::SolvedRows result;
  check_partition(arguments, solved.partition);
  result.partition = solved.partition.data();
  result.mode = solved.mode;
  if (solved.weight.given()) {
    result.weight = arguments.broadcast("weight", solved.weight, Along::elements);
    result.x = arguments.shaped("x", solved.x, Along::elements);
    result.y = arguments.shaped("y", solved.y, Along::elements);
  }
  result.rows = arguments.rows();
  return result;
}

}  // namespace

std::int64_t row_count(const ConstView& x, int dim) noexcept {
  const Arguments arguments("x", x, dim);
  return arguments.ok() ? arguments.rows().count : 0;
}

std::int64_t row_length(const ConstView& x, int dim) noexcept {
  const Arguments arguments("x", x, dim);
  return arguments.ok() ? arguments.rows().n : 0;
}

Status prox_tv1d(const Problem1d& problem, const View& y, std::span<std::uint32_t> partition,
                 const Context& context) noexcept {
  Arguments arguments("x", problem.x, problem.dim);
  detail::Forward1d call;
  call.x = arguments.shaped("x", problem.x, Along::elements);
  call.lam = arguments.lam(problem.lam);
  call.weight = arguments.optional_broadcast("weight", problem.weight, Along::elements);
  call.y = arguments.output("y", y, Along::elements);
  call.mode = problem.mode;
  call.rows = arguments.rows();
  arguments.require(y.dtype == problem.x.dtype, "y", "must have x's dtype; its number",
                    static_cast<double>(y.dtype));
  if (!partition.empty()) {
    check_partition(arguments, partition);
    call.partition = partition.data();
  }
  arguments.require_apart("y", y, problem.x,
                          {problem.lam.array, problem.weight, footprint(partition)});
  if (arguments.ok() && (may_overlap(footprint(partition), problem.x) ||
                         may_overlap(footprint(partition), problem.lam.array) ||
                         may_overlap(footprint(partition), problem.weight))) {
    arguments.fail("partition", Arguments::kApart, static_cast<double>(partition.size()));
  }
  return dispatch(arguments, &Backend::forward1d, call, context);
}

Status prox_tv1d_workspace(const Problem1d& problem, const Context& context,
                           std::size_t& bytes) noexcept {
  const Arguments arguments("x", problem.x, problem.dim);
  if (!arguments.ok()) return arguments.status();
  const Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr) return detail::unsupported_device();
  bytes = backend->workspace1d(arguments.rows(), problem.weight.given(), context);
  return {};
}

Status prox_tv1d_backward(const Solved1d& solved, const ConstView& grad_y,
                          const Gradients1d& gradients, const Context& context) noexcept {
  Arguments arguments("grad_y", grad_y, solved.dim);
  detail::Backward1d call;
  call.solved = lay_out(arguments, solved);
  call.grad_y = arguments.shaped("grad_y", grad_y, Along::elements);
  call.grad_x = arguments.optional_output("gradients.x", gradients.x, Along::elements);
  call.grad_lam = arguments.optional_output("gradients.lam", gradients.lam, Along::row_or_edges);
  call.grad_weight =
      arguments.optional_output("gradients.weight", gradients.weight, Along::elements);
  if (gradients.weight.given() && !solved.weight.given()) {
    arguments.fail("gradients.weight",
                   "needs solved.weight, solved.x and solved.y; number of dimensions",
                   gradients.weight.ndim);
  }
  const Footprint partition = footprint(solved.partition);
  arguments.require_apart(
      "gradients.x", gradients.x, grad_y,
      {solved.x, solved.y, solved.weight, partition, gradients.lam, gradients.weight});
  arguments.require_apart("gradients.lam", gradients.lam, {},
                          {grad_y, solved.x, solved.y, solved.weight, partition, gradients.weight});
  arguments.require_apart("gradients.weight", gradients.weight, {},
                          {grad_y, solved.x, solved.y, solved.weight, partition});
  return dispatch(arguments, &Backend::backward1d, call, context);
}

Status prox_tv1d_jvp(const Solved1d& solved, const Tangents1d& tangents, const View& tangent_y,
                     const Context& context) noexcept {
  Arguments arguments("tangent_y", tangent_y, solved.dim);
  detail::Jvp1d call;
  call.solved = lay_out(arguments, solved);
  if (tangents.x.given())
    call.tangent_x = arguments.shaped("tangents.x", tangents.x, Along::elements);
  call.tangent_lam =
      arguments.optional_broadcast("tangents.lam", tangents.lam, Along::row_or_edges);
  call.tangent_weight =
      arguments.optional_broadcast("tangents.weight", tangents.weight, Along::elements);
  call.tangent_y = arguments.output("tangent_y", tangent_y, Along::elements);
  if (tangents.weight.given() && !solved.weight.given()) {
    arguments.fail("tangents.weight",
                   "needs solved.weight, solved.x and solved.y; number of dimensions",
                   tangents.weight.ndim);
  }
  arguments.require_apart("tangent_y", tangent_y, tangents.x,
                          {tangents.lam, tangents.weight, solved.x, solved.y, solved.weight,
                           footprint(solved.partition)});
  return dispatch(arguments, &Backend::jvp1d, call, context);
}

Status lam_max(const ConstView& x, const View& out, const ConstView& weight, int dim,
               const Context& context) noexcept {
  Arguments arguments("x", x, dim);
  detail::RowReduction call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.weight = arguments.optional_broadcast("weight", weight, Along::elements);
  call.out = arguments.output("out", out, Along::row);
  call.rows = arguments.rows();
  arguments.require_apart("out", out, {}, {x, weight});
  return dispatch(arguments, &Backend::lam_max, call, context);
}

Status tv(const ConstView& x, const View& out, int dim, const Context& context) noexcept {
  Arguments arguments("x", x, dim);
  detail::RowReduction call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.out = arguments.output("out", out, Along::row);
  call.rows = arguments.rows();
  arguments.require_apart("out", out, {}, {x});
  return dispatch(arguments, &Backend::tv, call, context);
}

Status segments1d_offsets(std::span<const std::uint32_t> partition, std::int64_t rows,
                          std::int64_t n, std::span<std::int64_t> offsets) noexcept {
  Arguments arguments("partition",
                      ConstView{.data = partition.data(), .ndim = 2, .shape = {rows, n}}, 1);
  check_partition(arguments, partition);
  arguments.require(offsets.size() == static_cast<std::size_t>(rows) + 1, "offsets",
                    "must have rows + 1 elements", static_cast<double>(offsets.size()));
  if (!arguments.ok()) return arguments.status();
  const std::int64_t words = partition_words(n);
  offsets[0] = 0;
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const std::uint32_t* row = partition.data() + static_cast<std::int64_t>(r) * words;
    offsets[r + 1] = offsets[r] + detail::count_segments(row, n);
  }
  return {};
}

Status segments1d(const ConstView& y, std::span<const std::uint32_t> partition,
                  std::span<Segment> segments, int dim) noexcept {
  Arguments arguments("y", y, dim);
  detail::Segments1d call;
  call.y = arguments.shaped("y", y, Along::elements);
  call.rows = arguments.rows();
  check_partition(arguments, partition);
  call.partition = partition.data();
  call.segments = segments.data();
  if (!arguments.ok()) return arguments.status();
  std::int64_t count = 0;
  const std::int64_t words = partition_words(call.rows.n);
  for (std::int64_t r = 0; r < call.rows.count; ++r) {
    count += detail::count_segments(partition.data() + r * words, call.rows.n);
  }
  arguments.require(count == static_cast<std::int64_t>(segments.size()), "segments",
                    "must have as many elements as the partition has segments",
                    static_cast<double>(segments.size()));
  return dispatch(arguments, &Backend::segments1d, call, Context{});
}

}  // namespace tautline
