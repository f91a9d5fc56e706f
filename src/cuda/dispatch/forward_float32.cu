#include "cuda/dispatch/forward.cuh"

namespace tautstring::detail {

template Status forward_in<float>(const Forward1d&, const Context&) noexcept;

}  // namespace tautstring::detail
