// How the Newton kernel lays out its work.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// Samples that a thread holds at most: five numbers of each are in registers, so that kernels for
/// rows of fewer samples a thread have room for more of them.
inline constexpr int kNewtonItems = 8;
/// Threads of a row at most. Longer rows have one each.
inline constexpr int kMostNewtonThreads = 512;
inline constexpr std::int32_t kLongestSharedNewtonRow = kMostNewtonThreads * kNewtonItems;

}  // namespace tautstring::detail
