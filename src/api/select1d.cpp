#include "tautstring/select1d.h"

#include "api/arguments.h"

namespace tautstring {

using Along = detail::Arguments::Along;

Status select_lam1d(const Selection1d& selection, const View& lam,
                    const Context& context) noexcept {
  detail::Arguments arguments("x", selection.x, selection.dim,
                              {selection.sigma, selection.weight, lam});
  detail::Select1d call;
  call.x = arguments.shaped("x", selection.x, Along::elements);
  call.weight = arguments.optional_broadcast("weight", selection.weight, Along::elements);
  call.sigma = arguments.optional_broadcast("sigma", selection.sigma, Along::row);
  call.out = arguments.output("lam", lam, Along::row);
  call.rows = arguments.rows();
  call.selects = true;
  call.criterion = selection.criterion;
  call.segments = selection.segments;
  arguments.require(selection.segments >= 1, "segments", "must be at least 1",
                    static_cast<double>(selection.segments));
  arguments.require_apart("lam", lam, {}, {selection.x, selection.sigma, selection.weight});
  return dispatch(arguments, &detail::Backend::select1d, call, context);
}

Status estimate_sigma1d(const ConstView& x, const View& sigma, const ConstView& weight, int dim,
                        const Context& context) noexcept {
  detail::Arguments arguments("x", x, dim, {weight, sigma});
  detail::Select1d call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.weight = arguments.optional_broadcast("weight", weight, Along::elements);
  call.out = arguments.output("sigma", sigma, Along::row);
  call.rows = arguments.rows();
  arguments.require_apart("sigma", sigma, {}, {x, weight});
  return dispatch(arguments, &detail::Backend::select1d, call, context);
}

Status select_lam1d_workspace(const ConstView& x, bool weighted, int dim, const Context& context,
                              std::size_t& bytes) noexcept {
  const detail::Arguments arguments("x", x, dim);
  if (!arguments.ok()) return arguments.status();
  const detail::Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr || backend->select_workspace1d == nullptr) {
    return detail::unsupported_device();
  }
  bytes = backend->select_workspace1d(arguments.rows(), weighted, context);
  return {};
}

}  // namespace tautstring
