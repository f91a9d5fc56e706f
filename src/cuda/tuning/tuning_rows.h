// Work layout of the row kernels. They serve the calls that the fast kernels do not support and are
// built for correctness: none of these numbers has been measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tautstring::detail {

/// Small blocks, so that even few threads use many multiprocessors.
inline constexpr int kRowThreadsPerBlock = 32;

/// Every thread has scratch memory for one row. So there are no more threads than a large device
/// has lanes (132 multiprocessors of 128), no more than fit in a reasonable amount of memory, and
/// always at least one.
inline constexpr std::int64_t kMostRowThreads = 132 * 128;
inline constexpr std::size_t kMostRowScratch = std::size_t{256} << 20;

[[nodiscard]] inline std::int64_t row_threads(std::int64_t rows, std::size_t slot_bytes) noexcept {
  const auto fitting = static_cast<std::int64_t>(kMostRowScratch / slot_bytes);
  return std::min(rows, std::clamp<std::int64_t>(fitting, 1, kMostRowThreads));
}

}  // namespace tautstring::detail
