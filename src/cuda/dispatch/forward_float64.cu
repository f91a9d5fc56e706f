#include "cuda/dispatch/forward.cuh"

namespace tautline::detail {

template Status forward_in<double>(const Forward1d&, const Context&) noexcept;

}  // namespace tautline::detail
