# Installs the components so that find_package(tautstring COMPONENTS core torch) finds them.
include(CMakePackageConfigHelpers)

install(TARGETS tautstring_core EXPORT tautstring-core
  COMPONENT core)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT core
  FILES_MATCHING PATTERN "*.h"
  PATTERN "torch" EXCLUDE)
install(EXPORT tautstring-core NAMESPACE tautstring::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautstring
  COMPONENT core)
if(TAUTSTRING_LIBTORCH)
  install(TARGETS tautstring_torch EXPORT tautstring-torch
    COMPONENT torch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tautstring/torch
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tautstring
    COMPONENT torch)
  install(EXPORT tautstring-torch NAMESPACE tautstring::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautstring
    COMPONENT torch)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/TautstringTorch.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautstring
    COMPONENT torch)
endif()
# Users of a static library link the CUDA runtime themselves.
get_target_property(type tautstring_core TYPE)
set(tautstring_needs_cuda_to_link OFF)
if(TAUTSTRING_HAS_CUDA AND type STREQUAL "STATIC_LIBRARY")
  set(tautstring_needs_cuda_to_link ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tautstring-config.cmake.in
  ${PROJECT_BINARY_DIR}/tautstring-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautstring)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tautstring-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tautstring-config.cmake
              ${PROJECT_BINARY_DIR}/tautstring-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautstring
  COMPONENT core)
