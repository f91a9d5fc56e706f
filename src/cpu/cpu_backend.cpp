#include "cpu/cpu_backend.h"

#include <algorithm>

#include "cpu/parallel.h"

namespace tautline::detail {
namespace {

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept {
  const auto row_tasks = static_cast<std::size_t>(share_rows(rows, context).tasks);
  return std::max(row_scratch_bytes(rows.n, weighted) * row_tasks,
                  forward1d_workspace(rows, context));
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
