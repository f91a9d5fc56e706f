# Builds the consumer project from scratch and runs it. Needs NAME, SOURCE, WORK,
# BUILD, GENERATOR, CXX, CXX_FLAGS, LIBRARY_OPTIONS; TORCH_ROOT: where torch is, if the
# component for LibTorch is to be used too.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

file(REMOVE_RECURSE ${WORK})
# Not optimised: this tests how the parts fit together, and compiling them takes longest.
set(common -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${CXX_FLAGS}
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0)
set(torch)
if(TORCH_ROOT)
  set(torch -DWITH_TORCH=ON -DTAUTSTRING_TORCH_ROOT=${TORCH_ROOT})
endif()
if(NAME MATCHES "^AddSubdirectory")
  set(find -DTAUTSTRING_SOURCE=${SOURCE})
elseif(NAME STREQUAL "FindPackageOfThisBuild")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(find -DCMAKE_PREFIX_PATH=${WORK}/prefix)
else()
  run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/library ${common} ${LIBRARY_OPTIONS}
      -DTAUTSTRING_CLI=OFF -DTAUTSTRING_EXAMPLES=OFF -DTAUTSTRING_TESTS=OFF
      -DCMAKE_INSTALL_PREFIX=${WORK}/prefix)
  run(${CMAKE_COMMAND} --build ${WORK}/library)
  run(${CMAKE_COMMAND} --install ${WORK}/library)
  set(find -DCMAKE_PREFIX_PATH=${WORK}/prefix)
endif()
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/install/consumer -B ${WORK}/consumer ${common} ${find}
    ${torch})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
# Also test the portable code, which every build has: not all vector code reveals a stray flag.
run(${CMAKE_COMMAND} -E env TAUTSTRING_CPU=portable ${WORK}/consumer/consumer)
if(TORCH_ROOT)
  run(${WORK}/consumer/torch_consumer)
endif()
