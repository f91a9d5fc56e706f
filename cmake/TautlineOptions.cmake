# What every target of this project is compiled with. Users of the library
# inherit nothing but C++20.
add_library(tautline_options INTERFACE)
target_compile_features(tautline_options INTERFACE cxx_std_20)

# Floating-point contraction would let one compiler fuse a multiply and an add
# that another does not: the same source must round the same way everywhere. And
# a parent project's -ffast-math would take away NaN and the meaning of our sums.
target_compile_options(tautline_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
    -fno-fast-math -ffp-contract=off $<$<BOOL:${TAUTLINE_WERROR}>:-Werror>>)

if(TAUTLINE_SANITIZE)
  target_compile_options(tautline_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TAUTLINE_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1>)
  target_link_options(tautline_options INTERFACE -fsanitize=${TAUTLINE_SANITIZE})
endif()
