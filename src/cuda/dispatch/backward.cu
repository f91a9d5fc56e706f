#include "cuda/dispatch/backward.cuh"

namespace tautstring::detail {

std::size_t backward_workspace(const Rows& rows) noexcept {
  const std::int64_t tiles = rows.n > kBackwardTile ? tile_count(rows) : 0;
  return static_cast<std::size_t>(rows.count * tiles) * sizeof(TileSums);
}

bool has_fast_backward(const Backward1d& call) noexcept {
  const bool same_type = !call.grad_x.given || call.grad_x.dtype == call.grad_y.dtype;
  // float64 gradients of lam are summed in float64 throughout.
  const bool wide_lam = call.grad_lam.given && call.grad_lam.dtype == DType::float64 &&
                        call.grad_y.dtype != DType::float64;
  return same_type && !wide_lam;
}

template Status backward_in<__half>(const Backward1d&, const Context&) noexcept;
template Status backward_in<__nv_bfloat16>(const Backward1d&, const Context&) noexcept;
template Status backward_in<float>(const Backward1d&, const Context&) noexcept;
template Status backward_in<double>(const Backward1d&, const Context&) noexcept;

}  // namespace tautstring::detail
