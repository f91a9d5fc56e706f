#include "cuda/dispatch/backward.cuh"

namespace tautstring::detail {

template Status backward_pass_in<double>(const Backward1d&, const ImageGradients<double>&,
                                         const Context&) noexcept;

}  // namespace tautstring::detail
