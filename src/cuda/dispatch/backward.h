// Backward of rows without data weights.
#pragma once

#include <cstddef>

#include "backend.h"

namespace tautstring::detail {

std::size_t backward_workspace(const Rows& rows) noexcept;

/// Whether backward_in supports the call: incoming and outgoing gradients have one type.
[[nodiscard]] bool has_fast_backward(const Backward1d& call) noexcept;

/// `Storage` is the type of grad_y's elements.
template <class Storage>
Status backward_in(const Backward1d& call, const Context& context) noexcept;

template <class T>
struct ImageGradients;

/// One backward pass over images: grad_x receives the incoming gradient of the pass before.
template <class Storage>
Status backward_pass_in(const Backward1d& call, const ImageGradients<Storage>& images,
                        const Context& context) noexcept;

}  // namespace tautstring::detail
