# Finds torch and defines an imported target for it: an unpacked LibTorch, or the torch of a
# Python environment. Installed with the package, since its users need it too. Does not use
# find_package(Torch), because that changes the CUDA architectures and flags of the whole
# tree, and fails if torch has CUDA but there is no toolkit.
include_guard(GLOBAL)

set(TAUTSTRING_TORCH_ROOT "" CACHE PATH
  "Folder with torch's include/ and lib/; empty: search CMAKE_PREFIX_PATH, then Python's torch")

# Puts the folder of torch into `result`, or the reason why there is none into `reason`.
function(tautstring_torch_root result reason)
  set(header include/torch/csrc/stable/ops.h)
  set(candidates ${TAUTSTRING_TORCH_ROOT})
  if(NOT candidates)
    set(candidates ${TORCH_INSTALL_PREFIX} ${CMAKE_PREFIX_PATH})
    foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
      list(APPEND candidates ${prefix}/../..)  # torch.utils.cmake_prefix_path
    endforeach()
    if(NOT Python_EXECUTABLE)
      find_package(Python 3.10 QUIET COMPONENTS Interpreter)
    endif()
    if(Python_EXECUTABLE)
      # Finds the folder without importing torch, which takes seconds.
      execute_process(
        COMMAND ${Python_EXECUTABLE} -c
          "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
        OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE of_python ERROR_QUIET)
      list(APPEND candidates ${of_python})
    endif()
  endif()
  foreach(root IN LISTS candidates)
    if(EXISTS ${root}/${header})
      get_filename_component(root ${root} ABSOLUTE)
      set(${result} ${root} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${reason} "no torch 2.11 or newer was found (looked in: ${candidates}); set \
TAUTSTRING_TORCH_ROOT to the folder of a LibTorch, or Python_EXECUTABLE to a Python that has torch"
      PARENT_SCOPE)
endfunction()

# Sets TAUTSTRING_TORCH_VERSION (major.minor), TAUTSTRING_TORCH_INCLUDE_DIRS,
# TAUTSTRING_TORCH_LIB_DIR and defines tautstring::libtorch. If torch is not found, sets
# TAUTSTRING_TORCH_NOT_FOUND_MESSAGE; without QUIET that is an error.
macro(tautstring_find_torch)
  unset(TAUTSTRING_TORCH_NOT_FOUND_MESSAGE)
  tautstring_torch_root(tautstring_torch_folder TAUTSTRING_TORCH_NOT_FOUND_MESSAGE)
  if(TAUTSTRING_TORCH_NOT_FOUND_MESSAGE)
    if(NOT "${ARGN}" STREQUAL "QUIET")
      message(FATAL_ERROR "tautstring: ${TAUTSTRING_TORCH_NOT_FOUND_MESSAGE}")
    endif()
  else()
    file(STRINGS ${tautstring_torch_folder}/include/torch/headeronly/version.h
      tautstring_torch_version_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
    string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2"
      TAUTSTRING_TORCH_VERSION "${tautstring_torch_version_lines}")
    set(TAUTSTRING_TORCH_LIB_DIR ${tautstring_torch_folder}/lib)
    set(TAUTSTRING_TORCH_INCLUDE_DIRS ${tautstring_torch_folder}/include
      ${tautstring_torch_folder}/include/torch/csrc/api/include)
    if(NOT TARGET tautstring::libtorch)
      add_library(tautstring::libtorch INTERFACE IMPORTED GLOBAL)
      target_include_directories(tautstring::libtorch SYSTEM INTERFACE
        ${TAUTSTRING_TORCH_INCLUDE_DIRS})
      # libtorch.so only loads the other libraries, including those of CUDA: it must be kept.
      target_link_libraries(tautstring::libtorch INTERFACE
        -Wl,--push-state,--no-as-needed ${TAUTSTRING_TORCH_LIB_DIR}/libtorch.so -Wl,--pop-state
        ${TAUTSTRING_TORCH_LIB_DIR}/libtorch_cpu.so ${TAUTSTRING_TORCH_LIB_DIR}/libc10.so)
    endif()
  endif()
endmacro()
