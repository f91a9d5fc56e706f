# CUDA is optional: TAUTSTRING_CUDA decides, and a message says what is built. Sets
# TAUTSTRING_HAS_CUDA. Compiling the kernels takes minutes, so AUTO asks for a GPU, too: most people
# who have a toolkit but no GPU want the CPU.
set(TAUTSTRING_HAS_CUDA OFF)
set(has_gpu OFF)
if(EXISTS /dev/nvidia0 OR EXISTS /dev/dxg)  # the latter in WSL
  set(has_gpu ON)
endif()
if(TAUTSTRING_CUDA STREQUAL "AUTO" AND NOT has_gpu)
  message(STATUS
    "tautstring: no GPU found, building without CUDA (-DTAUTSTRING_CUDA=ON builds its kernels)")
elseif(NOT TAUTSTRING_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(TAUTSTRING_CUDA_ARCHS "" CACHE STRING
      "CUDA architectures; empty: native if there is a GPU, otherwise 90")
    if(NOT TAUTSTRING_CUDA_ARCHS)
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
        if(has_gpu)
          set(CMAKE_CUDA_ARCHITECTURES native)
        endif()
      endif()
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${TAUTSTRING_CUDA_ARCHS})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED GLOBAL)  # parent projects link the same libraries
    set(TAUTSTRING_HAS_CUDA ON)
    message(STATUS "tautstring: building CUDA kernels for ${CMAKE_CUDA_ARCHITECTURES}, "
      "which takes minutes (-DTAUTSTRING_CUDA=OFF leaves them out)")
    # Options for all CUDA sources. Steps shared with the host are constexpr
    # functions, which need no annotations to run on a device; without fused
    # multiply-adds they round there as on the host. (CMake 3.25 cannot request
    # C++20 from nvcc; warning 554 is about a conversion that `requires` excludes.)
    add_library(tautstring_cuda_options INTERFACE)
    target_compile_options(tautstring_cuda_options INTERFACE
      $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr --fmad=false
        --diag-suppress=554
        -Xcompiler=-ffp-contract=off,-Wall,-Wextra
        $<$<BOOL:${TAUTSTRING_WERROR}>:--Werror=all-warnings>>)
  elseif(TAUTSTRING_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TAUTSTRING_CUDA=ON, but no CUDA compiler was found (set CUDACXX).")
  else()
    message(STATUS "tautstring: no CUDA compiler found, building without CUDA")
  endif()
endif()
