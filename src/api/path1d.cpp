#include "tautstring/path1d.h"

#include "api/arguments.h"

namespace tautstring {

Status path1d(const ConstView& x, const View& lams, const ConstView& weight, int dim,
              const Context& context) noexcept {
  using Along = detail::Arguments::Along;
  detail::Arguments arguments("x", x, dim, {weight, lams});
  detail::Path1d call;
  call.x = arguments.shaped("x", x, Along::elements);
  call.weight = arguments.optional_broadcast("weight", weight, Along::elements);
  call.lams = arguments.output("lams", lams, Along::edges);
  call.rows = arguments.rows();
  arguments.require_apart("lams", lams, {}, {x, weight});
  return dispatch(arguments, &detail::Backend::path1d, call, context);
}

Status path1d_workspace(const ConstView& x, bool weighted, int dim, const Context& context,
                        std::size_t& bytes) noexcept {
  const detail::Arguments arguments("x", x, dim);
  if (!arguments.ok()) return arguments.status();
  const detail::Backend* backend = detail::find_backend(context.device);
  if (backend == nullptr || backend->path_workspace1d == nullptr) {
    return detail::unsupported_device();
  }
  bytes = backend->path_workspace1d(arguments.rows(), weighted, context);
  return {};
}

}  // namespace tautstring
