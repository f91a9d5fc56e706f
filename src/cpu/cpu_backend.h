// The CPU backend's functions; cpu_backend.cpp gathers them.
#pragma once

#include "backend.h"

namespace tautstring::detail {

/// Scratch bytes of any 1D call.
std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept;
std::size_t forward1d_workspace(const Rows& rows, const Context& context) noexcept;
Status forward1d(const Forward1d& call, const Context& context) noexcept;
/// The same where nothing can fail: lams are checked, there are samples and no data weights, and
/// context.workspace has the size that workspace1d returns. The other _checked function likewise.
void forward1d_checked(const Forward1d& call, const Context& context) noexcept;
std::size_t backward1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept;
Status backward1d(const Backward1d& call, const Context& context) noexcept;
void backward1d_checked(const Backward1d& call, const Context& context) noexcept;
Status jvp1d(const Jvp1d& call, const Context& context) noexcept;
Status certificate1d(const Certificate1d& call, const Context& context) noexcept;
Status lam_max(const RowReduction& call, const Context& context) noexcept;
Status tv(const RowReduction& call, const Context& context) noexcept;
std::size_t path1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept;
Status path1d(const Path1d& call, const Context& context) noexcept;
std::size_t select1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept;
Status select1d(const Select1d& call, const Context& context) noexcept;
std::size_t newton1d_workspace(const Rows& rows, const Context& context) noexcept;
Status newton1d(const NewtonForward1d& call, const Context& context) noexcept;
/// Scratch bytes of any 2D call.
std::size_t workspace2d(const Workspace2d& request, const Context& context) noexcept;
std::size_t forward2d_workspace(const Images& images, const Context& context) noexcept;
Status forward2d(const Forward2d& call, const Context& context) noexcept;
std::size_t gap2d_workspace(const Images& images, const Context& context) noexcept;
Status gap2d(const Gap2d& call, const Context& context) noexcept;
/// Derivatives of the iterations, and of the exact solution.
std::size_t iterations_backward2d_workspace(const Images& images, const Context& context) noexcept;
Status iterations_backward2d(const Backward2d& call, const Context& context) noexcept;
std::size_t iterations_jvp2d_workspace(const Images& images, const Context& context) noexcept;
Status iterations_jvp2d(const Jvp2d& call, const Context& context) noexcept;
std::size_t solution2d_workspace(const Images& images, const Context& context) noexcept;
Status solution_backward2d(const Backward2d& call, const Context& context) noexcept;
Status solution_jvp2d(const Jvp2d& call, const Context& context) noexcept;

}  // namespace tautstring::detail
