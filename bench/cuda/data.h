// Data, generated on the GPU. Values are generated as float32, so that all dtypes get the same
// numbers (except for the rounding of bfloat16).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "cases.h"

namespace bench {

inline constexpr std::uint64_t kDataSeed = 1;

/// Fills all rows of a case's layout. Other seeds generate other data of the same family.
template <class T>
void fill(Family family, const Layout& layout, std::uint64_t seed, T* values, cudaStream_t stream);

/// Fills the penalties of a case with an array of them: per-edge penalties are in [lam / 2, 3 lam /
/// 2].
template <class T>
void fill_lam(const Case& c, T* values, cudaStream_t stream);

}  // namespace bench
