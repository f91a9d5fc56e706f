// Work layout of the Newton kernel.
#pragma once

#include <cstdint>

namespace tautstring::detail {

/// The largest number of samples per thread. Five numbers per sample are in registers, so kernels
/// with fewer samples per thread have room for more numbers.
inline constexpr int kNewtonItems = 8;
/// The largest number of threads per row. Longer rows get one thread each.
inline constexpr int kMostNewtonThreads = 512;
inline constexpr std::int32_t kLongestSharedNewtonRow = kMostNewtonThreads * kNewtonItems;

}  // namespace tautstring::detail
