# What every target of this project is compiled with. Users of the library
# inherit nothing but C++20.
add_library(tautstring_options INTERFACE)
target_compile_features(tautstring_options INTERFACE cxx_std_20)

# Floating-point contraction would let one compiler fuse a multiply and an add
# that another does not: the same source must round the same way everywhere. And
# a parent project's -ffast-math would take away NaN and the meaning of our sums.
target_compile_options(tautstring_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
    -fno-fast-math -ffp-contract=off $<$<BOOL:${TAUTSTRING_WERROR}>:-Werror>>)

if(TAUTSTRING_SANITIZE)
  target_compile_options(tautstring_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TAUTSTRING_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1>)
  target_link_options(tautstring_options INTERFACE -fsanitize=${TAUTSTRING_SANITIZE})
endif()
