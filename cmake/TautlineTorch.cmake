# torch's headers and libraries as imported targets, from the torch that a Python
# interpreter imports, or from an unpacked LibTorch (TAUTLINE_TORCH_ROOT). Not by
# find_package(Torch): that changes CUDA's architectures and flags of the whole
# tree, and fails where torch has CUDA but there is no toolkit.
#
# tautline_torch_headers  include folders, as system ones
# tautline_torch_cpu      libtorch_cpu and libc10
if(TARGET tautline_torch_headers)
  return()
endif()

set(TAUTLINE_TORCH_ROOT "" CACHE PATH
  "Folder with torch's include/ and lib/; empty: the torch that Python imports")
set(torch_root ${TAUTLINE_TORCH_ROOT})
if(NOT torch_root)
  if(NOT Python_EXECUTABLE)
    find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  endif()
  # Finds the folder without importing torch, which takes seconds.
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
      "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE torch_root
    RESULT_VARIABLE torch_missing ERROR_QUIET)
  if(torch_missing)
    message(FATAL_ERROR "tautline: torch was not found by ${Python_EXECUTABLE}; install it there, "
                        "or set TAUTLINE_TORCH_ROOT to the folder of a LibTorch.")
  endif()
endif()
if(NOT EXISTS ${torch_root}/include/torch/csrc/stable/ops.h)
  message(FATAL_ERROR "tautline: no torch 2.11 or newer at ${torch_root} (no stable/ops.h there)")
endif()

file(STRINGS ${torch_root}/include/torch/headeronly/version.h version_lines
  REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2"
  TAUTLINE_TORCH_VERSION "${version_lines}")

add_library(tautline_torch_headers INTERFACE)
target_include_directories(tautline_torch_headers SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
add_library(tautline_torch_cpu INTERFACE)
target_link_libraries(tautline_torch_cpu INTERFACE
  ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
