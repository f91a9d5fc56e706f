# Installs the components so that find_package(tautline COMPONENTS core torch) finds them.
include(CMakePackageConfigHelpers)

install(TARGETS tautline_core EXPORT tautline-core
  COMPONENT core)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT core
  FILES_MATCHING PATTERN "*.h"
  PATTERN "torch" EXCLUDE)
install(EXPORT tautline-core NAMESPACE tautline::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline
  COMPONENT core)
if(TAUTLINE_LIBTORCH)
  install(TARGETS tautline_torch EXPORT tautline-torch
    COMPONENT torch)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tautline/torch
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tautline
    COMPONENT torch)
  install(EXPORT tautline-torch NAMESPACE tautline::
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline
    COMPONENT torch)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/TautlineTorch.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline
    COMPONENT torch)
endif()
# A static library leaves the CUDA runtime to whoever links it.
get_target_property(type tautline_core TYPE)
set(tautline_needs_cuda_to_link OFF)
if(TAUTLINE_HAS_CUDA AND type STREQUAL "STATIC_LIBRARY")
  set(tautline_needs_cuda_to_link ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tautline-config.cmake.in
  ${PROJECT_BINARY_DIR}/tautline-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tautline-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tautline-config.cmake
              ${PROJECT_BINARY_DIR}/tautline-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tautline
  COMPONENT core)
