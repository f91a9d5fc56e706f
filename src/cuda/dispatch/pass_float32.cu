#include "cuda/dispatch/pass.cuh"

namespace tautline::detail {

template Status pass_in<float>(const Forward1d&, const ImagePass<float>&, const Context&) noexcept;

}  // namespace tautline::detail
