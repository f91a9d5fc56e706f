# Vector code is optional: built if Highway's headers are found; otherwise left out, with a message.
# The portable code is always built. Sets TAUTSTRING_HAS_SIMD.
set(TAUTSTRING_HAS_SIMD OFF)
if(MSVC)
  message(STATUS "tautstring: MSVC, building the CPU code without SIMD")
elseif(NOT TAUTSTRING_SIMD STREQUAL "OFF")
  find_path(TAUTSTRING_HIGHWAY_INCLUDE_DIR hwy/foreach_target.h DOC "Folder with hwy/highway.h")
  mark_as_advanced(TAUTSTRING_HIGHWAY_INCLUDE_DIR)
  if(TAUTSTRING_HIGHWAY_INCLUDE_DIR)
    set(TAUTSTRING_HAS_SIMD ON)
  elseif(TAUTSTRING_SIMD STREQUAL "ON")
    message(FATAL_ERROR "TAUTSTRING_SIMD=ON, but hwy/highway.h was not found (Debian: libhwy-dev; "
                        "elsewhere set TAUTSTRING_HIGHWAY_INCLUDE_DIR).")
  else()
    message(STATUS "tautstring: Highway (hwy/highway.h) not found, building the CPU code without SIMD")
  endif()
endif()
