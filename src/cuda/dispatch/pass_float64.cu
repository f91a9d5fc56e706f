#include "cuda/dispatch/pass.cuh"

namespace tautstring::detail {

template Status pass_in<double>(const Forward1d&, const ImagePass<double>&,
                                const Context&) noexcept;

}  // namespace tautstring::detail
