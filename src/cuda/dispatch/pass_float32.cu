#include "cuda/dispatch/pass.cuh"

namespace tautstring::detail {

template Status pass_in<float>(const Forward1d&, const ImagePass<float>&, const Context&) noexcept;

}  // namespace tautstring::detail
