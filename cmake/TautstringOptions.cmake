# Options for all targets of this project. Users of the library inherit only C++20.
add_library(tautstring_options INTERFACE)
target_compile_features(tautstring_options INTERFACE cxx_std_20)

# With floating-point contraction one compiler may fuse a multiply and an add that
# another does not, but the same source must round the same way everywhere. A parent
# project's -ffast-math would break the handling of NaN and our compensated sums.
if(MSVC)
  target_compile_options(tautstring_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:/W4 /fp:precise>)
else()
  target_compile_options(tautstring_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
      -fno-fast-math -ffp-contract=off $<$<BOOL:${TAUTSTRING_WERROR}>:-Werror>>)
endif()

if(TAUTSTRING_SANITIZE)
  target_compile_options(tautstring_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TAUTSTRING_SANITIZE} -fno-sanitize-recover=all
      -fno-omit-frame-pointer -g1>)
  target_link_options(tautstring_options INTERFACE -fsanitize=${TAUTSTRING_SANITIZE})
endif()
