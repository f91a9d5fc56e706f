# Without a build type CMake compiles without optimisation, and the library is 40 to 90 times
# slower. A build of this project alone is then a Release build; in a subproject the choice is
# the parent's, which is warned. Any type will do, "None" too: the flags are then the caller's.
get_property(tautstring_is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT tautstring_is_multi_config)
  if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "tautstring: CMAKE_BUILD_TYPE is not set, taking Release")
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug, MinSizeRel or None"
      FORCE)
  else()
    message(WARNING "tautstring: CMAKE_BUILD_TYPE is not set, so the library is compiled without "
      "optimisation and is 40 to 90 times slower. Set CMAKE_BUILD_TYPE, for example to Release "
      "(or to None, if CMAKE_CXX_FLAGS already asks for optimisation).")
  endif()
endif()
