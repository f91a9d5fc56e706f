// Asynchronous copies from device memory to shared memory.
#pragma once

namespace tautstring::detail {

/// Copies 4, 8 or 16 bytes; both addresses must be aligned to that size.
template <int kBytes, class T>
__device__ void copy_async(T* to, const void* from) noexcept {
#if __CUDA_ARCH__ >= 800
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(kBytes)
                 : "memory");
  }
#else
  *to = *static_cast<const T*>(from);
#endif
}

/// Waits for all copies of this thread.
__device__ inline void wait_for_copies() noexcept {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace tautstring::detail
