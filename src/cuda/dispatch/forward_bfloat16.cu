#include "cuda/dispatch/forward.cuh"

namespace tautstring::detail {

template Status forward_in<__nv_bfloat16>(const Forward1d&, const Context&) noexcept;

}  // namespace tautstring::detail
