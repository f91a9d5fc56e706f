// Lets a function run on a device if it cannot be constexpr, because of a cast from void* or a
// library function. Other shared steps are constexpr.
#pragma once

#ifdef __CUDACC__
#define TAUTSTRING_HOST_DEVICE __host__ __device__
#else
#define TAUTSTRING_HOST_DEVICE
#endif

// Goes before a loop over an array that must stay in a device's registers.
#ifdef __CUDA_ARCH__
#define TAUTSTRING_UNROLL _Pragma("unroll")
#else
#define TAUTSTRING_UNROLL
#endif
