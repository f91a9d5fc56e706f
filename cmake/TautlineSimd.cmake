# Vector code is optional: Highway's headers found -> built, not found -> said once
# and left out; the portable code is always there. Sets TAUTLINE_HAS_SIMD.
set(TAUTLINE_HAS_SIMD OFF)
if(NOT TAUTLINE_SIMD STREQUAL "OFF")
  find_path(TAUTLINE_HIGHWAY_INCLUDE_DIR hwy/foreach_target.h DOC "Folder with hwy/highway.h")
  mark_as_advanced(TAUTLINE_HIGHWAY_INCLUDE_DIR)
  if(TAUTLINE_HIGHWAY_INCLUDE_DIR)
    set(TAUTLINE_HAS_SIMD ON)
  elseif(TAUTLINE_SIMD STREQUAL "ON")
    message(FATAL_ERROR "TAUTLINE_SIMD=ON, but hwy/highway.h was not found (Debian: libhwy-dev; "
                        "elsewhere set TAUTLINE_HIGHWAY_INCLUDE_DIR).")
  else()
    message(STATUS "tautline: Highway (hwy/highway.h) not found, the CPU code is built without vectors")
  endif()
endif()
