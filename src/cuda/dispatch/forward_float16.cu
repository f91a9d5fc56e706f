#include "cuda/dispatch/forward.cuh"

namespace tautstring::detail {

template Status forward_in<__half>(const Forward1d&, const Context&) noexcept;

}  // namespace tautstring::detail
