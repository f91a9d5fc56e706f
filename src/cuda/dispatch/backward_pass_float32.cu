#include "cuda/dispatch/backward.cuh"

namespace tautstring::detail {

template Status backward_pass_in<float>(const Backward1d&, const ImageGradients<float>&,
                                        const Context&) noexcept;

}  // namespace tautstring::detail
