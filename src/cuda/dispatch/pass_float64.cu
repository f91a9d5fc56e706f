#include "cuda/dispatch/pass.cuh"

namespace tautline::detail {

template Status pass_in<double>(const Forward1d&, const ImagePass<double>&,
                                const Context&) noexcept;

}  // namespace tautline::detail
