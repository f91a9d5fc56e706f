# CUDA is optional: found -> enabled, not found -> said once and left out.
# Sets TAUTLINE_HAS_CUDA.
set(TAUTLINE_HAS_CUDA OFF)
if(NOT TAUTLINE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(TAUTLINE_CUDA_ARCHS "" CACHE STRING
      "CUDA architectures; empty: native where a GPU is found, else 90")
    if(NOT TAUTLINE_CUDA_ARCHS)
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
        if(EXISTS /dev/nvidia0)
          set(CMAKE_CUDA_ARCHITECTURES native)
        endif()
      endif()
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${TAUTLINE_CUDA_ARCHS})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED GLOBAL)  # a parent project links what we link
    set(TAUTLINE_HAS_CUDA ON)
    # What all CUDA sources are compiled with. Steps shared with the host are
    # constexpr functions and need no markup to run on a device; without fused
    # multiply-adds they round there as on the host. (CMake 3.25 does not know
    # how to ask nvcc for C++20; warning 554 is about a conversion that `requires`
    # rules out.)
    add_library(tautline_cuda_options INTERFACE)
    target_compile_options(tautline_cuda_options INTERFACE
      $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr --fmad=false
        --diag-suppress=554
        -Xcompiler=-ffp-contract=off,-Wall,-Wextra
        $<$<BOOL:${TAUTLINE_WERROR}>:--Werror=all-warnings>>)
  elseif(TAUTLINE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "TAUTLINE_CUDA=ON, but no CUDA compiler was found (set CUDACXX).")
  else()
    message(STATUS "tautline: no CUDA compiler found, CUDA is left out")
  endif()
endif()
