# CUDA is optional: enabled if found; otherwise left out, with a message. Sets TAUTSTRING_HAS_CUDA.
set(TAUTSTRING_HAS_CUDA OFF)
if(NOT TAUTSTRING_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(TAUTSTRING_CUDA_ARCHS "" CACHE STRING
      "CUDA architectures; empty: native if there is a GPU, otherwise 90")
    if(NOT TAUTSTRING_CUDA_ARCHS)
      if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
        set(CMAKE_CUDA_ARCHITECTURES 90)
        if(EXISTS /dev/nvidia0)
          set(CMAKE_CUDA_ARCHITECTURES native)
        endif()
      endif()
    else()
      set(CMAKE_CUDA_ARCHITECTURES ${TAUTSTRING_CUDA_ARCHS})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED GLOBAL)  # parent projects link the same libraries
    set(TAUTSTRING_HAS_CUDA ON)
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
