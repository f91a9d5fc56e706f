#include "tautstring/certificate.h"

#include "api/arguments.h"

namespace tautstring {

Status certificate1d(const Problem1d& problem, const ConstView& y, const View& out,
                     const Context& context) noexcept {
  using Along = detail::Arguments::Along;
  detail::Arguments arguments("x", problem.x, problem.dim,
                              {problem.lam.array, problem.weight, y, out});
  detail::Certificate1d call;
  call.x = arguments.shaped("x", problem.x, Along::elements);
  call.lam = arguments.lam(problem.lam);
  call.weight = arguments.optional_broadcast("weight", problem.weight, Along::elements);
  call.y = arguments.shaped("y", y, Along::elements);
  call.out = arguments.output("out", out, Along::row);
  call.rows = arguments.rows();
  arguments.require(problem.mode == Mode::smooth, "mode", "must be Mode::smooth",
                    static_cast<double>(problem.mode));
  arguments.require_apart("out", out, {}, {problem.x, y, problem.lam.array, problem.weight});
  return dispatch(arguments, &detail::Backend::certificate1d, call, context);
}

}  // namespace tautstring
