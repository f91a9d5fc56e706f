// What a function needs to run on a device where constexpr is out of reach: a
// cast from void*, a library function. Shared steps are constexpr otherwise.
#pragma once

#ifdef __CUDACC__
#define TAUTSTRING_HOST_DEVICE __host__ __device__
#else
#define TAUTSTRING_HOST_DEVICE
#endif

// Before a loop over an array that has to be in a device's registers.
#ifdef __CUDA_ARCH__
#define TAUTSTRING_UNROLL _Pragma("unroll")
#else
#define TAUTSTRING_UNROLL
#endif
