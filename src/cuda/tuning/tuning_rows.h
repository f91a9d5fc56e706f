// How the row kernels are spread over a device. They serve what the fast kernels do
// not, and are chosen to be right: none of these numbers has been measured.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tautline::detail {

/// Small blocks, so that few threads still reach many multiprocessors.
inline constexpr int kRowThreadsPerBlock = 32;

/// Every thread has scratch for a row. More threads than this do not run at a time
/// on any device (132 multiprocessors of 128 lanes), more memory than this nobody
/// wants to lend; one thread there always is.
inline constexpr std::int64_t kMostRowThreads = 132 * 128;
inline constexpr std::size_t kMostRowScratch = std::size_t{256} << 20;

}  // namespace tautline::detail
