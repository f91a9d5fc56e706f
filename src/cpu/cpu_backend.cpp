#include "cpu/cpu_backend.h"

#include "cpu/parallel.h"

namespace tautline::detail {
namespace {

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept {
  return scratch_bytes(rows.n, weighted) * static_cast<std::size_t>(Sharing(rows, context).tasks);
}

}  // namespace

const Backend kCpuBackend = {
    .workspace1d = workspace1d,
    .forward1d = forward1d,
    .backward1d = backward1d,
    .jvp1d = jvp1d,
    .certificate1d = certificate1d,
    .lam_max = lam_max,
    .tv = tv,
};

}  // namespace tautline::detail
