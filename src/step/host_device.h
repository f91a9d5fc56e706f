// What a function needs to run on a device where constexpr is out of reach: a
// cast from void*, a library function. Shared steps are constexpr otherwise.
#pragma once

#ifdef __CUDACC__
#define TAUTLINE_HOST_DEVICE __host__ __device__
#else
#define TAUTLINE_HOST_DEVICE
#endif
